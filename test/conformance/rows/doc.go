// Package rows compares what minikcm's apiserver refuses with what upstream's
// registries refuse: each manifest of a corpus, and each of many small damages to it, is
// created as a dry run on a minikcm and checked by upstream's strategy in process. What
// one refuses and the other does not, or at another field, is a difference.
package rows
