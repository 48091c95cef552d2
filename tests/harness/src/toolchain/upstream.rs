use std::path::PathBuf;

use anyhow::Result;

use super::kubernetes::release_flags;
use super::{Build, Makes, Minor, Profile, check_prerequisites};
use crate::places::repository;

/// The e2e suite of upstream, of the newest minor, as a program, and what runs it.
#[derive(Clone, Debug)]
pub struct UpstreamSuite {
    /// The suite (`tests/compat/conformance`). Its name ends in `.test`, by which ginkgo knows a program that is built.
    pub suite: PathBuf,
    /// ginkgo, which runs several processes of it at once, and alone what must be alone.
    pub ginkgo: PathBuf,
}

/// Builds what is missing of the upstream suite: some minutes, once.
pub fn upstream_suite() -> Result<UpstreamSuite> {
    check_prerequisites()?;
    let module = &repository().join("tests/compat/conformance");
    let folder = Profile::Dev.folder(&format!("e2e-{}", Minor::NEWEST.version()))?;
    let suite = Build {
        module,
        package: ".",
        ldflags: &release_flags(Minor::NEWEST)?,
        makes: Makes::Tests,
        profile: Profile::Dev,
        output: folder.join("e2e.test"),
    };
    let ginkgo = Build {
        module,
        package: "github.com/onsi/ginkgo/v2/ginkgo",
        ldflags: "-s -w",
        makes: Makes::Program,
        profile: Profile::Dev,
        output: folder.join("ginkgo"),
    };
    Ok(UpstreamSuite { suite: suite.run()?, ginkgo: ginkgo.run()? })
}
