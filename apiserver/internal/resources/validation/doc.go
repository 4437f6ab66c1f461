// Package validation holds the rules that an object must satisfy to be stored, one
// function for each kind and write: StatefulSet checks every new or changed object,
// StatefulSetCreate what holds for new ones only, StatefulSetUpdate the changes of an update,
// and StatefulSetStatus the changes of a status.
//
// These functions are pure. They return upstream's field errors: its paths, types, texts
// and order, for the requirements in the API documentation of each field. They modify
// nothing, and expect objects with defaults. They know neither the table of kinds nor the
// metadata that all kinds share, which the apiserver validates.
//
//minikcm:pure
package validation
