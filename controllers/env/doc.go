// Package env is what every controller is given: the cluster's clock, ledger and
// randomness, and the API as a client sees it. It is a package of its own so
// that controllers need not import the manager that starts them.
package env
