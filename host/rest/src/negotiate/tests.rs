use super::*;

fn form(accept: &str) -> Result<Form, u16> {
    object_form(Some(accept)).map(|accepted| accepted.form).map_err(|status| status.code().as_u16())
}

#[test]
fn accept_headers_of_clients_are_negotiated_as_upstream_does() {
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
    let metadata = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
    for (accept, expected) in [
        ("", Ok(Form::Plain)),
        ("*/*", Ok(Form::Plain)),
        ("*", Ok(Form::Plain)),
        ("application/*", Ok(Form::Plain)),
        ("application/json", Ok(Form::Plain)),
        ("application/json;stream=watch", Ok(Form::Plain)),
        ("application/json;stream=other", Err(406)),
        ("application/vnd.kubernetes.protobuf,application/json", Ok(Form::Plain)),
        ("application/vnd.kubernetes.protobuf", Err(406)),
        ("application/cbor;q=0.9,application/json;q=0.5", Ok(Form::Plain)),
        ("text/html", Err(406)),
        (table, Ok(Form::Table(MetaVersion::V1))),
        ("application/json;as=Table;v=v1beta1;g=meta.k8s.io", Ok(Form::Table(MetaVersion::V1Beta1))),
        ("application/json;as=Table;v=v2;g=meta.k8s.io", Err(406)),
        ("application/json;as=Chair;v=v1;g=meta.k8s.io, */*", Ok(Form::Plain)),
        (metadata, Ok(Form::PartialList(MetaVersion::V1))),
        ("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", Ok(Form::Partial(MetaVersion::V1))),
    ] {
        assert_eq!(form(accept), expected, "{accept:?}");
    }
}

#[test]
fn a_refusal_names_what_there_is() {
    let status = object_form(Some("text/html")).unwrap_err();
    assert_eq!(status.message(), "only the following media types are accepted: application/json, application/yaml");
    let status = watch_form(Some("application/yaml")).unwrap_err();
    assert_eq!(status.message(), "only the following media types are accepted: application/json;stream=watch");
}

#[test]
fn yaml_is_written_for_who_asks_for_it_and_not_on_watches() {
    let syntax = |accept: &str| object_form(Some(accept)).map(|accepted| (accepted.syntax, accepted.form)).ok();
    let table = Form::Table(MetaVersion::V1);
    for (accept, expected) in [
        ("application/yaml", Some((Syntax::Yaml, Form::Plain))),
        ("application/yaml;q=0.5,application/json", Some((Syntax::Json, Form::Plain))),
        ("application/json;q=0.5,application/yaml", Some((Syntax::Yaml, Form::Plain))),
        ("application/*", Some((Syntax::Json, Form::Plain))),
        ("application/yaml;as=Table;v=v1;g=meta.k8s.io", Some((Syntax::Yaml, table))),
        ("application/yaml;stream=watch", None),
    ] {
        assert_eq!(syntax(accept), expected, "{accept}");
    }
    assert!(watch_form(Some("application/yaml,application/json")).is_err(), "the most wanted decides, as upstream");
    assert!(watch_form(Some("application/json;stream=watch")).is_ok());
}

#[test]
fn a_refusal_is_written_as_plain_documents_are() {
    for (accept, expected) in [
        (None, Some(Syntax::Json)),
        (Some("application/yaml"), Some(Syntax::Yaml)),
        (Some("application/yaml;as=Table;v=v1;g=meta.k8s.io"), None),
        (Some("application/json;as=Table;v=v1;g=meta.k8s.io,application/json"), Some(Syntax::Json)),
        (Some("text/html"), None),
    ] {
        assert_eq!(refusal_syntax(accept), expected, "{accept:?}");
    }
}

#[test]
fn discovery_is_aggregated_for_those_who_ask() {
    let kubectl = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";
    for (accept, expected) in [
        (Some(kubectl), DiscoveryForm::Aggregated),
        (
            Some("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList;profile=nopeer"),
            DiscoveryForm::Aggregated,
        ),
        (
            Some("application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"),
            DiscoveryForm::Legacy(Accepted::PLAIN),
        ),
        (Some("*/*"), DiscoveryForm::Legacy(Accepted::PLAIN)),
        (None, DiscoveryForm::Legacy(Accepted::PLAIN)),
    ] {
        assert_eq!(discovery_form(accept), Ok(expected), "{accept:?}");
    }
    assert!(discovery_form(Some("application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList")).is_err());
}

#[test]
fn people_get_indented_answers_unless_they_say_no() {
    for (parameter, agent, expected) in [
        (None, Some("curl/8.0"), true),
        (Some("false"), Some("curl/8.0"), false),
        (Some(""), Some("curl/8.0"), true),
        (Some("true"), Some("kubectl/v1.37"), true),
        (Some("yes"), None, false),
        (None, Some("kubectl/v1.37"), false),
    ] {
        assert_eq!(pretty(parameter, agent), expected, "{parameter:?} {agent:?}");
    }
}
