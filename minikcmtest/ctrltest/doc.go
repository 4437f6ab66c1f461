// Package ctrltest runs controller-runtime managers on a test's cluster. NewManager
// replaces ctrl.NewManager. Controllers that SetupWithManager adds work unchanged on
// virtual time:
//
//   - A reconcile counts as in flight from the Add of its request until Done, so Advance
//     waits for it. RequeueAfter and the back-off of errors use the cluster's clock.
//   - The informers of the manager's cache count as in flight until every handler has
//     handled what they delivered.
//   - Leader election and events use the cluster's clock.
//   - The seed determines the order of writes: reconciles take turns with the cluster's
//     own controllers.
//
// The package is named after ctrl, the name under which operators import
// controller-runtime, as httptest is named after http.
//
// docs/operators.md lists what does not run on the cluster's clock.
package ctrltest
