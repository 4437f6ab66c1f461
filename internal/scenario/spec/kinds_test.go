package spec

import "time"

// testKind is a kind of step whose values are a T, without any checks.
type testKind[T any] string

func (k testKind[T]) Name() string          { return string(k) }
func (testKind[T]) New() any                { return new(T) }
func (testKind[T]) Check(*Checker, any)     {}
func (k testKind[T]) Title(any) string      { return string(k) }
func (testKind[T]) Steps(any) [][]Step      { return nil }
func (testKind[T]) Least(any) time.Duration { return 0 }

type testApply struct {
	Objects []Object `yaml:"objects"`
}

type testWait struct {
	Target string `yaml:"target"`
	For    string `yaml:"for"`
}

type testScale struct {
	Target   string `yaml:"target"`
	Replicas *int   `yaml:"replicas"`
}

// testOptions have some kinds of steps.
var testOptions = LoadOptions{Steps: []StepKind{
	testKind[testApply]("apply"), testKind[testWait]("wait"), testKind[testScale]("scale"), testKind[Duration]("sleep"),
}}

// valueOf is a step's value of a known type.
func valueOf[T any](s Step) *T { return s.Value.(*T) }
