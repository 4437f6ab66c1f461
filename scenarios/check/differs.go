package check

import (
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Differs is an error that says that the cluster is not (yet) as wanted. Other errors
// say that this cannot be found out.
type Differs struct {
	// Text says what differs; Diff has a line for every field that does.
	Text string
	Diff []string
	// Objects are those that it is about.
	Objects []*unstructured.Unstructured
}

func (d *Differs) Error() string {
	if len(d.Diff) == 0 {
		return d.Text
	}
	return d.Text + "\n  " + strings.Join(d.Diff, "\n  ")
}

// IsDiffers says whether err is only about how the cluster is.
func IsDiffers(err error) bool {
	var d *Differs
	return errors.As(err, &d)
}

// Differences are all that err is made of.
func Differences(err error) []*Differs {
	if d, ok := err.(*Differs); ok { //nolint:errorlint // the tree is walked here
		return []*Differs{d}
	}
	var all []*Differs
	switch wrapped := err.(type) { //nolint:errorlint // likewise
	case interface{ Unwrap() []error }:
		for _, inner := range wrapped.Unwrap() {
			all = append(all, Differences(inner)...)
		}
	case interface{ Unwrap() error }:
		all = Differences(wrapped.Unwrap())
	}
	return all
}
