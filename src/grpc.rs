//! The wire: what the protos say, in terms of the booth. Nothing else names a generated type.

mod catalog;
mod decode;
mod encode;
mod execution;
mod fit;
mod page;
mod resets;
mod session;
mod status;
mod submissions;

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;
use tonic::service::Routes;

use self::resets::HearsResets;
use crate::booth::Booth;

pub use status::Fault;

/// The types that are generated from the protos, clients included.
#[expect(
    clippy::pedantic,
    clippy::as_conversions,
    clippy::clone_on_ref_ptr,
    clippy::allow_attributes,
    clippy::allow_attributes_without_reason,
    unused_qualifications,
    reason = "generated from protos that explain every message and field"
)]
pub mod proto {
    tonic::include_proto!("toolbooth.v1");
}

/// Every message and service, for server reflection.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/toolbooth.bin"));

/// The names of the services, for health checks.
pub const SERVICES: [&str; 3] = [
    proto::tool_execution_service_server::SERVICE_NAME,
    proto::tool_catalog_service_server::SERVICE_NAME,
    proto::submission_service_server::SERVICE_NAME,
];

/// The version of the protocol that this booth speaks.
pub const PROTOCOL_VERSION: u32 = 1;

/// Bytes of one message that every client takes by default.
pub const MAX_MESSAGE_BYTES: usize = 4 << 20;

/// When the booth stops, and how long its runs have.
#[derive(Debug, Clone)]
pub struct Stopping {
    /// The booth takes no new batch; running ones are finished.
    pub drain: CancellationToken,
    /// Running batches are cancelled.
    pub cancel: CancellationToken,
    /// The time between the two.
    pub grace: Duration,
}

/// The services of a booth. Messages of more bytes are not taken; results are cut, and lists come in pages, so that they have no
/// more. What cannot be cut is sent as it is: it is the client's to refuse.
pub fn routes(booth: &Arc<Booth>, stopping: &Stopping, max_message_bytes: usize) -> Routes {
    let mut routes = Routes::builder();
    routes.add_service(HearsResets(execution::service(Arc::clone(booth), stopping.clone(), max_message_bytes)));
    routes.add_service(catalog::service(Arc::clone(booth), max_message_bytes));
    routes.add_service(submissions::service(Arc::clone(booth), stopping.drain.clone(), max_message_bytes));
    routes.routes()
}
