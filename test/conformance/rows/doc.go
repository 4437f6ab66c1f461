// Package rows compares the validation of minikcm's API server with the validation of upstream's
// registries. Each manifest of a corpus, and many invalid variants of it, are created as a dry run
// on minikcm and validated by upstream's strategy in process. It is a difference if only one of
// them refuses the object, or if they name different fields.
package rows
