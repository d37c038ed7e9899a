//! Compiles the protos without `protoc`, and keeps their descriptors for server reflection.

use std::{env, error::Error, fs, path::PathBuf};

use prost::Message as _;

const PROTOS: [&str; 6] = [
    "proto/toolbooth/v1/types.proto",
    "proto/toolbooth/v1/execution.proto",
    "proto/toolbooth/v1/policy.proto",
    "proto/toolbooth/v1/provider.proto",
    "proto/toolbooth/v1/catalog.proto",
    "proto/toolbooth/v1/submission.proto",
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto");
    let descriptors = protox::compile(PROTOS, ["proto"])?;
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    fs::write(out.join("toolbooth.bin"), descriptors.encode_to_vec())?;
    tonic_prost_build::configure().bytes(".").compile_fds(descriptors)?;
    Ok(())
}
