//! The command lines of a cluster's programs.

use std::fs;
use std::path::Path;

use anyhow::Result;

use super::{ClusterSpec, Ports, Shape};
use crate::pki::Pki;
use crate::process::Program;
use crate::toolchain::Programs;

pub(super) fn etcd(spec: &ClusterSpec, programs: &Programs, dir: &Path, ports: Ports) -> Program {
    let client = format!("http://127.0.0.1:{}", ports.etcd);
    let peer = format!("http://127.0.0.1:{}", ports.etcd_peer);
    Program::new(&programs.etcd, dir.join("etcd.log")).lifetime(spec.lifetime).args([
        format!("--name={}", spec.name),
        format!("--data-dir={}", dir.join("etcd").display()),
        format!("--listen-client-urls={client}"),
        format!("--advertise-client-urls={client}"),
        format!("--listen-peer-urls={peer}"),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--initial-cluster={}={peer}", spec.name),
        // A test's data need not outlive the machine, and a killed etcd loses nothing that it wrote.
        "--unsafe-no-fsync".to_owned(),
        "--log-level=warn".to_owned(),
    ])
}

pub(super) fn apiserver(spec: &ClusterSpec, programs: &Programs, dir: &Path, pki: &Pki, ports: Ports) -> Program {
    let mut flags = vec![
        format!("--etcd-servers=http://127.0.0.1:{}", ports.etcd),
        format!("--secure-port={}", ports.apiserver),
        "--bind-address=127.0.0.1".to_owned(),
        "--advertise-address=127.0.0.1".to_owned(),
        format!("--tls-cert-file={}", pki.file("apiserver.crt")),
        format!("--tls-private-key-file={}", pki.file("apiserver.key")),
        format!("--client-ca-file={}", pki.file("ca.crt")),
        "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
        format!("--service-account-key-file={}", pki.file("sa.pub")),
        format!("--service-account-signing-key-file={}", pki.file("sa.key")),
        "--service-cluster-ip-range=10.0.0.0/16".to_owned(),
        "--authorization-mode=Node,RBAC".to_owned(),
        "--allow-privileged".to_owned(),
        format!("--kubelet-client-certificate={}", pki.file("admin.crt")),
        format!("--kubelet-client-key={}", pki.file("admin.key")),
        format!("--kubelet-certificate-authority={}", pki.file("ca.crt")),
        "--kubelet-preferred-address-types=InternalIP".to_owned(),
        "--endpoint-reconciler-type=none".to_owned(),
    ];
    if spec.shape == Shape::Bare {
        // Nobody makes the service accounts that this plugin would wait for.
        flags.push("--disable-admission-plugins=ServiceAccount".to_owned());
    }
    flags.extend_from_slice(&spec.apiserver_flags);
    Program::new(&programs.apiserver, dir.join("kube-apiserver.log")).lifetime(spec.lifetime).args(flags)
}

/// kube-controller-manager, kube-scheduler and kwok, in the order in which they start.
pub(super) fn controllers(
    spec: &ClusterSpec,
    programs: &Programs,
    dir: &Path,
    pki: &Pki,
    ports: Ports,
) -> Result<[Program; 3]> {
    let kubeconfig = format!("--kubeconfig={}", dir.join("kubeconfig").display());
    let program =
        |path: &Path, log: &str| Program::new(path, dir.join(log)).lifetime(spec.lifetime).args([&kubeconfig]);
    let controller_manager = program(&programs.controller_manager, "kube-controller-manager.log").args([
        format!("--service-account-private-key-file={}", pki.file("sa.key")),
        format!("--root-ca-file={}", pki.file("ca.crt")),
        format!("--cluster-signing-cert-file={}", pki.file("ca.crt")),
        format!("--cluster-signing-key-file={}", pki.file("ca.key")),
        "--use-service-account-credentials".to_owned(),
        "--leader-elect=false".to_owned(),
        "--secure-port=0".to_owned(),
    ]);
    let scheduler =
        program(&programs.scheduler, "kube-scheduler.log").args(["--leader-elect=false", "--secure-port=0"]);
    let kwok = program(&programs.kwok, "kwok.log").args([
        "--manage-all-nodes".to_owned(),
        "--node-ip=127.0.0.1".to_owned(),
        format!("--node-port={}", ports.kubelet),
        format!("--server-address=127.0.0.1:{}", ports.kubelet),
        format!("--tls-cert-file={}", pki.file("kubelet.crt")),
        format!("--tls-private-key-file={}", pki.file("kubelet.key")),
        "--node-lease-duration-seconds=40".to_owned(),
        format!("--config={}", programs.kwok_stages.display()),
        format!("--config={}", fake_kubelet(dir)?),
    ]);
    Ok([controller_manager, scheduler, kwok])
}

/// What the fake kubelet answers: exec runs the command on this machine, logs and attach read one file, and what is sent
/// to a forwarded port comes back.
fn fake_kubelet(dir: &Path) -> Result<String> {
    let log = dir.join("container.log");
    fs::write(
        &log,
        "2026-01-01T00:00:00.000000001Z stdout F the sun stands still\n\
         2026-01-01T00:00:01.000000001Z stdout F and yet it moves\n",
    )?;
    let log = log.display();
    let documents = [
        ("ClusterExec", "execs: [{local: {}}]".to_owned()),
        ("ClusterLogs", format!("logs: [{{logsFile: '{log}', follow: true}}]")),
        ("ClusterAttach", format!("attaches: [{{logsFile: '{log}'}}]")),
        ("ClusterPortForward", "forwards: [{command: [cat]}]".to_owned()),
    ];
    let documents = documents.map(|(kind, spec)| {
        format!("apiVersion: kwok.x-k8s.io/v1alpha1\nkind: {kind}\nmetadata: {{name: all}}\nspec: {{{spec}}}\n")
    });
    let path = dir.join("kubelet.yaml");
    fs::write(&path, documents.join("---\n"))?;
    Ok(path.display().to_string())
}
