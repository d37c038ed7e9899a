//! The ledgers: one list of cases that holds for every store, and what is true of one of them only.

mod embedded;
mod holding;
mod postgres;
mod reading;
pub(crate) mod server;
mod stores;

/// Each case as a test of each store.
macro_rules! cases {
    ($($room:ident::$case:ident,)*) => {
        mod in_memory {
            $(#[tokio::test]
            async fn $case() {
                super::$room::$case(super::stores::memory()).await;
            })*
        }
        mod in_a_file {
            $(#[tokio::test]
            async fn $case() {
                super::$room::$case(super::stores::embedded()).await;
            })*
        }
        mod in_postgres {
            $(#[tokio::test]
            async fn $case() {
                if let Some(ledger) = super::stores::postgres().await {
                    super::$room::$case(ledger).await;
                }
            })*
        }
    };
}

cases! {
    holding::s2_a_key_is_held_once_and_then_taken,
    holding::s2_a_release_frees_the_key,
    holding::s4_a_doubt_is_refused_or_handed_on_with_its_idempotency_key,
    holding::s4_whoever_was_in_doubt_may_still_say_what_happened,
    holding::s4_whoever_was_followed_after_a_doubt_holds_nothing,
    holding::of_two_keys_all_or_none_are_held,
    holding::s2_of_many_who_want_a_key_one_gets_it_and_the_others_its_record,
    holding::a_wait_ends_with_the_decision_it_waits_for,
    holding::whoever_is_gone_before_its_answer_holds_nothing,
    holding::whoever_is_gone_before_its_answer_leaves_a_doubt_as_it_was,
    holding::keys_of_any_length_and_any_character_are_told_apart,
    reading::an_answer_is_kept_to_the_letter,
    reading::every_warning_that_an_answer_may_carry_keeps_its_code,
    reading::s5_submissions_are_read_by_page_and_by_whose_they_are,
    reading::a_watch_misses_nothing_of_what_is_recorded_at_once,
    reading::what_is_older_than_its_retention_is_forgotten_and_nothing_else,
    reading::s4_a_doubt_is_forgotten_like_the_submission_that_it_might_be,
}
