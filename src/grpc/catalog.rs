//! The catalog service: what the booth knows of its tools.

use std::sync::Arc;

use tonic::{Request, Response, Status};

use super::{
    Fault, decode, encode, page,
    proto::{self, tool_catalog_service_server::ToolCatalogServiceServer},
};
use crate::{
    booth::Booth,
    tools::{ContractReport, Entry, load_document},
};

#[derive(Debug)]
struct Tools {
    booth: Arc<Booth>,
    max_message_bytes: usize,
}

pub(super) fn service(booth: Arc<Booth>, max_message_bytes: usize) -> ToolCatalogServiceServer<impl Service> {
    ToolCatalogServiceServer::new(Tools { booth, max_message_bytes })
        .max_decoding_message_size(max_message_bytes)
        .max_encoding_message_size(usize::MAX)
}

/// The generated trait, under the name that says what it is.
pub(super) use proto::tool_catalog_service_server::ToolCatalogService as Service;

#[tonic::async_trait]
impl Service for Tools {
    async fn list_tools(
        &self,
        request: Request<proto::ListToolsRequest>,
    ) -> Result<Response<proto::ListToolsResponse>, Status> {
        let request = request.into_inner();
        // The token is the last name of the page before; it stays right when tools come and go.
        let is_next = |name: &str| request.page_token.is_empty() || name > request.page_token.as_str();
        let rest = self.booth.catalog.iter().filter(|(name, _)| is_next(name)).map(|(_, entry)| tool(entry));
        let (tools, is_last) = page::of(rest, request.page_size, self.max_message_bytes);
        let last = tools.last().filter(|_| !is_last);
        let next_page_token = last.map(|last| last.name.clone()).unwrap_or_default();
        Ok(Response::new(proto::ListToolsResponse { tools, next_page_token }))
    }

    async fn get_tool(
        &self,
        request: Request<proto::GetToolRequest>,
    ) -> Result<Response<proto::GetToolResponse>, Status> {
        let name = request.into_inner().name;
        let Some(entry) = self.booth.catalog.get(&name) else {
            let nearest = self.booth.catalog.nearest(&name, 1);
            let hint = nearest.first().map(|nearest| format!("; the nearest name is `{nearest}`")).unwrap_or_default();
            return Err(Fault::ToolNotFound { name, hint }.into());
        };
        Ok(Response::new(proto::GetToolResponse { tool: Some(tool(entry)) }))
    }

    async fn check_tool(
        &self,
        request: Request<proto::CheckToolRequest>,
    ) -> Result<Response<proto::CheckToolResponse>, Status> {
        let contract = request.into_inner().contract;
        if contract.is_empty() {
            return Err(decode::malformed("contract", "it is empty; send one JSON document".to_owned()).into());
        }
        let reports = load_document(&contract, &self.booth.load).reports;
        Ok(Response::new(proto::CheckToolResponse { reports: encode::reports(&reports) }))
    }
}

fn tool(entry: &Entry) -> proto::Tool {
    match entry {
        Entry::Served(tool) => encode::tool(tool),
        Entry::Quarantined(report) => quarantined(report),
    }
}

/// Of a broken contract only the report is known.
fn quarantined(report: &ContractReport) -> proto::Tool {
    proto::Tool { name: report.name.to_string(), report: Some(encode::report(report)), ..proto::Tool::default() }
}
