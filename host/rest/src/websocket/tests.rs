use std::time::Duration;

use bytes::Bytes;
use futures::channel::mpsc;
use futures::{SinkExt as _, StreamExt as _, stream};
use prometheus_client::metrics::counter::Counter;
use tokio::io::DuplexStream;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::Role;

use super::*;

type Client = WebSocketStream<DuplexStream>;

/// A client, what feeds the server, and the server's end. The connection holds `bytes` each way.
async fn connected(bytes: usize) -> (Client, mpsc::Sender<Bytes>, JoinHandle<(End, u64)>) {
    let (ours, theirs) = tokio::io::duplex(bytes);
    let (sender, pieces) = mpsc::channel(16);
    let served = tokio::spawn(async move {
        let sent = Counter::default();
        (serve(theirs, pieces, &sent).await, sent.get())
    });
    (WebSocketStream::from_raw_socket(ours, Role::Client, None).await, sender, served)
}

#[tokio::test]
async fn each_line_is_a_text_frame_and_the_end_is_a_close() {
    let (client, mut sender, served) = connected(64).await;
    sender.send(Bytes::from_static(b"{\"a\":1}\n{\"b\":\"\xc3\xa4\"}\n")).await.unwrap();
    sender.send(Bytes::from_static(b"{\"c\":3}\n")).await.unwrap();
    drop(sender);
    let received: Vec<_> = client.map(Result::unwrap).collect().await;
    let (close, texts) = received.split_last().unwrap();
    let texts: Vec<_> = texts.iter().map(|message| message.to_text().unwrap()).collect();
    assert_eq!(texts, ["{\"a\":1}\n", "{\"b\":\"ä\"}\n", "{\"c\":3}\n"]);
    assert!(matches!(close, Message::Close(Some(CloseFrame { code: CloseCode::Normal, .. }))), "{close:?}");
    assert_eq!(served.await.unwrap(), (End::Done, 27));
}

#[tokio::test(start_paused = true)]
async fn pings_are_answered_and_what_a_client_says_is_passed_over() {
    let (mut client, mut sender, _served) = connected(4096).await;
    client.send(Message::text("hello?")).await.unwrap();
    client.send(Message::Ping(Bytes::from_static(b"there?"))).await.unwrap();
    assert_eq!(client.next().await.unwrap().unwrap(), Message::Pong(Bytes::from_static(b"there?")));
    sender.send(Bytes::from_static(b"{}\n")).await.unwrap();
    assert_eq!(client.next().await.unwrap().unwrap(), Message::text("{}\n"));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_closes_is_answered_and_freed() {
    let (mut client, _sender, served) = connected(4096).await;
    client.close(None).await.unwrap();
    assert!(matches!(client.next().await, Some(Ok(Message::Close(_))) | None));
    assert_eq!(served.await.unwrap().0, End::Left);
}

#[tokio::test(start_paused = true)]
async fn a_client_whose_connection_breaks_is_freed() {
    let (client, _sender, served) = connected(4096).await;
    drop(client);
    assert_eq!(served.await.unwrap().0, End::Left);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_answers_no_ping_is_cut() {
    let begun = Instant::now();
    let (_silent, _sender, served) = connected(4096).await;
    assert_eq!(served.await.unwrap().0, End::Vanished);
    assert!(begun.elapsed() <= Duration::from_secs(61), "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_client_that_answers_pings_stays() {
    let (mut client, _sender, served) = connected(4096).await;
    let reading = tokio::spawn(async move { while client.next().await.is_some_and(|message| message.is_ok()) {} });
    sleep(Duration::from_secs(600)).await;
    assert!(!served.is_finished());
    reading.abort();
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_is_cut() {
    let (_deaf, mut sender, served) = connected(64).await;
    sender.send(Bytes::from(format!("{}\n", "x".repeat(1000)))).await.unwrap();
    assert_eq!(served.await.unwrap().0, End::Slow);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_says_too_much_is_cut() {
    let (mut client, _sender, served) = connected(1 << 20).await;
    client.send(Message::text("x".repeat(RECEIVED_BYTES_MAX + 1))).await.unwrap();
    assert_eq!(served.await.unwrap().0, End::Left);
}

#[tokio::test]
async fn nothing_to_send_is_a_close() {
    let (ours, theirs) = tokio::io::duplex(4096);
    let client = WebSocketStream::from_raw_socket(ours, Role::Client, None).await;
    let sent = Counter::default();
    let (end, received) = tokio::join!(serve(theirs, stream::empty(), &sent), client.collect::<Vec<_>>());
    assert_eq!((end, received.len()), (End::Done, 1));
}
