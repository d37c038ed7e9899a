//! Reading what was kept (rules S3 and S5), watching it come, and forgetting it.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use futures::future::join_all;
use toolbooth::{
    content::{Blob, Content, Resource, ResourceBody, ToolOutput, Warning},
    json::{ParseLimits, SharedJson, parse_shared},
    ports::{Record, Reserved, Retention, Selection},
};

use crate::floors::source::sources;

use super::stores::{Kept, NOTHING, PATIENCE, claim, held, host_key, key, put, record, reserved, retrying, taken};

fn json(text: &'static str) -> SharedJson {
    parse_shared(&text.into(), &ParseLimits::wide()).unwrap()
}

pub(super) async fn an_answer_is_kept_to_the_letter(ledger: Kept) {
    let bytes: Vec<u8> = (0..=255).collect();
    let blob = |mime_type: &str| Blob { data: bytes.clone().into(), mime_type: mime_type.into() };
    let resource = |body| Content::Resource(Resource { uri: "file:///a".into(), mime_type: "".into(), body });
    let own = [host_key("t\0", "h"), key("t\0", "tool", "\0")];
    let kept = Record {
        keys: own.to_vec(),
        tool: "tool".into(),
        run: "run \u{0}\u{1f600}".into(),
        call_id: String::new().into(),
        raw_arguments: bytes.clone().into(),
        arguments: json(r#"{"n":12345678901234567890.10,"e":1E400,"a":[-0,0.0],"z":"\u0000","a b":{"é":null}}"#),
        recorded_at_ms: -1,
        output: ToolOutput {
            content: vec![
                Content::text(""),
                Content::text("a\0b\u{2028}"),
                Content::Image(blob("image/png")),
                Content::Audio(blob("")),
                resource(ResourceBody::Text("text".into())),
                resource(ResourceBody::Blob(bytes.clone().into())),
            ],
            structured: Some(json(r#"{"b":1.50,"a":1e-7}"#)),
            details: Some(json("[1.0]")),
            is_error: false,
            terminate: None,
            warnings: vec![Warning { code: "lossy_text", message: "m".to_owned() }],
            full_bytes: Some(7),
        },
    };
    let reservation = held(&*ledger, &claim(&own, "k")).await;
    ledger.record(reservation, kept.clone()).await.unwrap();
    for key in &own {
        let read = taken(&*ledger, key).await;
        assert_eq!(read, kept);
        // Equal numbers may be spelled differently: these are not.
        let texts = |record: &Record| {
            let output = &record.output;
            [&record.arguments, output.structured.as_ref().unwrap(), output.details.as_ref().unwrap()]
                .map(|json| json.text().to_owned())
        };
        assert_eq!(texts(&read), texts(&kept));
    }
    let submission = ledger.submissions(&Selection::default()).await.unwrap().remove(0);
    assert_eq!(submission, kept.submission(1).unwrap());
}

pub(super) async fn every_warning_that_an_answer_may_carry_keeps_its_code(ledger: Kept) {
    let sources = ["src/executors", "src/pipeline"].into_iter().flat_map(sources);
    let mut codes = BTreeSet::new();
    for source in sources {
        let after = source.text.split("Warning { code: \"").skip(1);
        codes.extend(after.map(|after| after.split('"').next().unwrap().to_owned()));
    }
    assert!(codes.len() >= 4, "{codes:?}");
    let own = [key("t", "tool", "k")];
    let warnings = codes.into_iter().map(|code| Warning { code: code.leak(), message: String::new() }).collect();
    let output = ToolOutput { warnings, ..ToolOutput::default() };
    let kept = Record { output, ..record(&own, "k") };
    let reservation = held(&*ledger, &claim(&own, "k")).await;
    ledger.record(reservation, kept.clone()).await.unwrap();
    assert_eq!(taken(&*ledger, &own[0]).await, kept, "name the code among the warnings of src/ledgers/payload.rs");
}

pub(super) async fn s5_submissions_are_read_by_page_and_by_whose_they_are(ledger: Kept) {
    for task in ["a", "b"] {
        for name in ["1", "2", "3"] {
            put(&*ledger, &[host_key(task, name), key(task, "tool", name)], name).await;
            put(&*ledger, &[host_key(task, &format!("{name} only a call"))], name).await;
        }
    }
    let names = async |selection: Selection| {
        let read = ledger.submissions(&selection).await.unwrap();
        assert!(read.windows(2).all(|two| (two[0].sequence > two[1].sequence) == selection.newest_first));
        read.iter().map(|submission| format!("{}{}", submission.task, submission.key)).collect::<Vec<_>>().join(" ")
    };
    let all = Selection::default;
    assert_eq!(names(all()).await, "a1 a2 a3 b1 b2 b3");
    assert_eq!(names(Selection { limit: 2, ..all() }).await, "a1 a2");
    assert_eq!(names(Selection { limit: 0, ..all() }).await, "");
    assert_eq!(names(Selection { limit: 4, newest_first: true, ..all() }).await, "b3 b2 b1 a3");
    let of_b = || Selection { task: Some("b".into()), ..all() };
    assert_eq!(names(of_b()).await, "b1 b2 b3");
    assert_eq!(names(Selection { newest_first: true, limit: 1, ..of_b() }).await, "b3");
    assert_eq!(names(Selection { key: Some("2".into()), ..all() }).await, "a2 b2");
    assert_eq!(names(Selection { key: Some("2".into()), tool: Some("tool".into()), ..of_b() }).await, "b2");
    assert_eq!(names(Selection { tool: Some("none".into()), ..all() }).await, "");
    assert_eq!(names(Selection { task: Some("none".into()), ..all() }).await, "");
    // Page by page, each from where the one before has ended.
    for task in [None, Some("b".into())] {
        let expected = ledger.submissions(&Selection { task: task.clone(), ..all() }).await.unwrap();
        let (mut read, mut after) = (Vec::new(), 0);
        loop {
            let page = Selection { task: task.clone(), after, limit: 2, ..all() };
            let page = ledger.submissions(&page).await.unwrap();
            let Some(last) = page.last() else { break };
            after = last.sequence;
            read.extend(page);
        }
        assert_eq!(read, expected);
    }
}

pub(super) async fn a_watch_misses_nothing_of_what_is_recorded_at_once(ledger: Kept) {
    const ALL: usize = 300;
    let watch = tokio::spawn({
        let ledger = ledger.clone();
        async move {
            let (mut names, mut after) = (Vec::new(), 0);
            while names.len() < ALL {
                let newest = ledger.changed(after).await.unwrap();
                assert!(newest > after);
                for submission in ledger.submissions(&Selection { after, ..Selection::default() }).await.unwrap() {
                    assert!(submission.sequence > after);
                    after = submission.sequence;
                    names.push(submission.call_id.parse::<usize>().unwrap());
                }
            }
            names
        }
    });
    let put = |number: usize| {
        let ledger = ledger.clone();
        tokio::spawn(async move {
            let name = number.to_string();
            put(&*ledger, &[key(&(number % 7).to_string(), "tool", &name)], &name).await;
        })
    };
    join_all((0..ALL).map(put)).await.into_iter().for_each(Result::unwrap);
    let mut names = tokio::time::timeout(PATIENCE, watch).await.unwrap().unwrap();
    names.sort_unstable();
    assert_eq!(names, (0..ALL).collect::<Vec<_>>());
}

pub(super) async fn what_is_older_than_its_retention_is_forgotten_and_nothing_else(ledger: Kept) {
    let at = async |keys: &[_], name: &str, recorded_at_ms| {
        let reservation = held(&*ledger, &claim(keys, name)).await;
        let record = Record { recorded_at_ms, ..record(keys, name) };
        ledger.record(reservation, record).await.unwrap();
    };
    let (old, new) = ([key("t", "tool", "old"), host_key("t", "old")], [key("t", "tool", "new")]);
    let (old_call, new_call) = ([host_key("t", "old call")], [host_key("t", "new call")]);
    at(&new, "new", 2_000).await;
    at(&old, "old", 1_000).await;
    at(&new_call, "new call", 2_000).await;
    at(&old_call, "old call", 1_000).await;
    let second = Some(Duration::from_secs(1));
    let forget =
        async |submissions, calls, now_ms| ledger.forget(Retention { submissions, calls }, now_ms).await.unwrap();
    assert_eq!(forget(None, None, i64::MAX).await, 0, "for ever");
    assert_eq!(forget(second, second, 2_000).await, 0, "as old as may be");
    assert_eq!(forget(None, second, 2_001).await, 1);
    assert_eq!(&*taken(&*ledger, &old[1]).await.call_id, "old", "a submission under a host's key is a submission");
    assert_eq!(forget(second, second, 2_001).await, 1);
    assert_eq!(forget(second, second, 2_001).await, 0);
    for forgotten in [&old[..], &old_call] {
        let again = held(&*ledger, &claim(forgotten, "again")).await;
        ledger.release(again).await.unwrap();
    }
    for kept in [&new[..], &new_call] {
        taken(&*ledger, &kept[0]).await;
    }
    let left = ledger.submissions(&Selection { task: Some("t".into()), ..Selection::default() }).await.unwrap();
    assert_eq!(left.iter().map(|submission| &*submission.call_id).collect::<Vec<_>>(), ["new"]);
    // A number is never given twice.
    at(&old, "again", 3_000).await;
    assert_eq!(forget(Some(Duration::ZERO), None, i64::MAX).await, 2);
    at(&[key("t", "tool", "next")], "next", 3_000).await;
    assert_eq!(ledger.submissions(&Selection::default()).await.unwrap()[0].sequence, 6);
}

pub(super) async fn s4_a_doubt_is_forgotten_like_the_submission_that_it_might_be(ledger: Kept) {
    let (submission, call, kept) = ([key("t", "tool", "k")], [host_key("t", "k")], [key("t", "tool", "held")]);
    for keys in [&submission, &call] {
        let reservation = held(&*ledger, &claim(keys, "first")).await;
        ledger.doubt(reservation).await.unwrap();
    }
    let holds = held(&*ledger, &claim(&kept, "held")).await;
    let forever = Retention { submissions: None, calls: None };
    assert_eq!(ledger.forget(forever, i64::MAX).await.unwrap(), 0);
    let calls = Retention { calls: Some(Duration::ZERO), ..forever };
    assert_eq!(ledger.forget(calls, i64::MAX).await.unwrap(), 1);
    assert_eq!(reserved(&*ledger, &claim(&submission, "s")).await, Reserved::InDoubt(submission[0].clone()));
    assert_eq!(&*held(&*ledger, &retrying(&call, "new")).await.idempotency_key, "new");
    assert_eq!(ledger.forget(NOTHING, i64::MAX).await.unwrap(), 1);
    held(&*ledger, &claim(&submission, "new")).await;
    // What is being executed is never forgotten.
    ledger.record(holds, record(&kept, "held")).await.unwrap();
    assert_eq!(Arc::from("held"), taken(&*ledger, &kept[0]).await.call_id);
}
