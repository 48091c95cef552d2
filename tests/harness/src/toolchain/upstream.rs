use std::path::PathBuf;

use anyhow::Result;

use super::kubernetes::release_flags;
use super::{Build, Makes, Minor, check_prerequisites};
use crate::places::{cache, repository};

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
    let folder = cache(&format!("bin/e2e-{}", Minor::NEWEST.version()))?;
    let suite = Build {
        module,
        package: ".",
        ldflags: &release_flags(Minor::NEWEST)?,
        makes: Makes::Tests,
        output: folder.join("e2e.test"),
    };
    let ginkgo = Build {
        module,
        package: "github.com/onsi/ginkgo/v2/ginkgo",
        ldflags: "-s -w",
        makes: Makes::Program,
        output: folder.join("ginkgo"),
    };
    Ok(UpstreamSuite { suite: suite.run()?, ginkgo: ginkgo.run()? })
}
