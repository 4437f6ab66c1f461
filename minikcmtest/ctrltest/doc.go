// Package ctrltest runs controller-runtime managers on a test's cluster. NewManager
// takes the place of ctrl.NewManager, and what SetupWithManager adds works unchanged
// on virtual time:
//
//   - A reconcile counts as in flight from the Add of its request until Done, so that
//     Advance waits for it. RequeueAfter and the back-off of errors end on the
//     cluster's clock.
//   - The informers of the manager's cache count as in flight until every handler has
//     seen what they delivered.
//   - Leader election and events keep the cluster's time.
//   - One seed gives one order of writes: reconciles take turns with the cluster's own
//     controllers.
//
// The package is named for the name that operators import controller-runtime by, as
// httptest is for http.
//
// What it cannot put on the cluster's clock is listed in docs/operators.md.
package ctrltest
