package validation

import (
	"testing"

	celgo "github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// BenchmarkExpressions checks one expression, so that it measures the cost of the environment.
func BenchmarkExpressions(b *testing.B) {
	for b.Loop() {
		e := &expressions{}
		if errs := e.check(field.NewPath("expression"), "object.spec.replicas < 5", e.declared, celgo.BoolType); len(errs) > 0 {
			b.Fatal(errs)
		}
	}
}
