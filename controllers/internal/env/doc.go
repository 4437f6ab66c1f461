// Package env defines the environment of controllers: the cluster's clock, ledger and
// source of chance, and access to the API as a client. It is separate from the manager so
// that controllers need not import the package that starts them.
package env
