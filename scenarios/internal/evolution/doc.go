// Package evolution runs the reconcilers that the shipped scenario evolution compares. They
// do one reconcile in the four ways in which it was done over the years: by polling, by an
// informer for each consumer, by one informer that the consumers share, and by the
// controller of a custom resource. Each way keeps, for every ConfigMap with the label
// evolution=source and for each of three consumers, a copy with the same data. The ways
// differ in how they learn that something is to be done, and so in how many requests they
// make.
//
// A scenario starts a way as a user would: it creates a Reconciler, an object of a custom
// kind, which a controller runs beside the scenario's cluster.
package evolution
