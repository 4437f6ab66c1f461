package scenarios

import (
	"context"
	"slices"
	"time"

	"minikcm.dev/minikcm/internal/scenario/check"
	"minikcm.dev/minikcm/internal/scenario/runrecord"
	"minikcm.dev/minikcm/internal/scenario/spec"
	"minikcm.dev/minikcm/scenarios/fault"
)

// stepKinds is the table of the kinds of steps. A kind of step is a type, in a file of its own, and
// a row here. Parsing, validation, titles, the schema, runs and reports follow the table.
func stepKinds() []*kind {
	return []*kind{
		row("apply", def[Apply]{
			check: (*Apply).checkApply, title: (*Apply).applyTitle, run: (*branch).apply,
			objects: (*Apply).All, typed: (*Apply).typed, overwrites: (*Apply).overwrites,
		}),
		row("create", def[Apply]{
			check: (*Apply).checkCreate, title: (*Apply).createTitle, run: (*branch).create,
			objects: (*Apply).All, typed: (*Apply).typed,
		}),
		row("patch", def[Patch]{check: (*Patch).check, title: (*Patch).title, run: (*branch).patch}),
		row("scale", def[Scale]{check: (*Scale).check, title: (*Scale).title, run: (*branch).scale}),
		row("delete", def[Delete]{check: (*Delete).check, title: (*Delete).title, run: (*branch).delete}),
		row("wait", def[check.Wait]{check: (*check.Wait).Check, title: (*check.Wait).Title, run: (*branch).wait, span: runrecord.Check}),
		row("sleep", def[spec.Duration]{title: sleepTitle, run: (*branch).sleepStep, least: sleepTime}),
		row("advance", def[spec.Duration]{title: advanceTitle, run: (*branch).sleepStep, least: sleepTime}),
		row("script", def[Script]{check: (*Script).check, title: (*Script).title, run: (*branch).script, program: true}),
		row("kubectl", def[Kubectl]{check: (*Kubectl).check, title: (*Kubectl).title, run: (*branch).kubectl, program: true}),
		row("example", def[Example]{check: (*Example).check, title: (*Example).title, run: (*branch).example, program: true}),
		row("printed", def[Printed]{check: (*Printed).check, title: (*Printed).title, run: (*branch).printed, span: runrecord.Check}),
		row("parallel", def[Parallel]{
			check: (*Parallel).check, title: (*Parallel).title, run: (*branch).parallel,
			steps: (*Parallel).steps, least: (*Parallel).least,
		}),
		row("repeat", def[Repeat]{
			check: (*Repeat).check, title: (*Repeat).title, run: (*branch).repeat,
			steps: (*Repeat).steps, least: (*Repeat).least,
		}),
		row("forEach", def[ForEach]{check: (*ForEach).check, title: (*ForEach).title, run: (*branch).forEach, steps: (*ForEach).steps}),
		row("choose", def[Choose]{check: (*Choose).check, title: (*Choose).title, run: (*branch).choose, steps: (*Choose).steps}),
		row("include", def[Include]{
			check: (*Include).check, title: (*Include).title, run: (*branch).include,
			steps: (*Include).steps, least: (*Include).least,
		}),
		row("kill", def[Kill]{check: (*Kill).check, title: (*Kill).title, run: (*branch).kill, possible: (*Kill).possible, span: runrecord.Fault}),
		row("fault", def[fault.Fault]{
			check: checkFault, title: (*fault.Fault).Title, run: (*branch).fault,
			possible: faultPossible, faults: faultItself, span: runrecord.Fault,
		}),
		row("expect", def[spec.Expect]{
			check: checkExpect, title: expectTitle, run: (*branch).expect,
			typed: expectedObjects, possible: expectPossible, span: runrecord.Check,
		}),
		row("reachable", def[AwaitReachable]{
			check: (*AwaitReachable).check, title: (*AwaitReachable).title, run: (*branch).reachable,
			possible: (*AwaitReachable).possible, span: runrecord.Check,
		}),
		row("traffic", def[spec.Traffic]{check: (*spec.Traffic).Check, title: (*spec.Traffic).Title, run: (*branch).traffic, possible: trafficPossible}),
		row("remember", def[check.Remember]{check: (*check.Remember).Check, title: rememberTitle, run: (*branch).remember}),
	}
}

// def is a row of the table, for steps whose value is an S. Only title and run must be set.
type def[S any] struct {
	// check reports what is wrong with a value, and fills in its defaults.
	check func(value *S, c *spec.Checker)
	// title says in a few words what the step does.
	title func(value *S) string
	// run does it. The context of a step that holds no steps lets virtual time move while
	// one of the step's requests waits.
	run func(b *branch, ctx context.Context, value *S) error
	// span is the step's kind of span in the run record; default runrecord.Step.
	span runrecord.SpanKind

	// steps are the lists of steps within the value.
	steps func(value *S) [][]spec.Step
	// least is the least of the cluster's time that the step takes; default 0.
	least func(value *S) time.Duration
	// objects returns the objects that the step makes.
	objects func(value *S) []spec.Object
	// typed returns the objects whose fields must be in the schemas of their kinds.
	typed func(value *S) []spec.Object
	// overwrites returns the objects that the step would change if the cluster has them already.
	overwrites func(value *S) []spec.Object
	// faults returns the faults that the step injects. A cluster must be started with support for
	// them.
	faults func(value *S) []*fault.Fault
	// possible returns an error if the step cannot be done there, with the field of the
	// value that says so. It is not called for the scenario's own cluster.
	possible func(value *S, place Place) (field string, err error)
	// program says that the step runs another program, which needs a kubeconfig.
	program bool
}

// kind is a row whatever its values are. It is a spec.StepKind.
type kind struct {
	name    string
	span    runrecord.SpanKind
	program bool
	nests   bool

	newValue   func() any
	check      func(value any, c *spec.Checker)
	title      func(value any) string
	run        func(b *branch, ctx context.Context, value any) error
	steps      func(value any) [][]spec.Step
	least      func(value any) time.Duration
	objects    func(value any) []spec.Object
	typed      func(value any) []spec.Object
	overwrites func(value any) []spec.Object
	faults     func(value any) []*fault.Fault
	possible   func(value any, place Place) (field string, err error)
}

// row returns a row of the table. It panics if d lacks title or run.
func row[S any](name string, d def[S]) *kind {
	if d.title == nil || d.run == nil {
		panic("the step " + name + " lacks a title or what it does")
	}
	k := &kind{
		name: name, span: d.span, program: d.program, nests: d.steps != nil,
		newValue: func() any { return new(S) },
		title:    func(value any) string { return d.title(value.(*S)) },
		run:      func(b *branch, ctx context.Context, value any) error { return d.run(b, ctx, value.(*S)) },
		check:    func(any, *spec.Checker) {},
		possible: func(any, Place) (string, error) { return "", nil },
		steps:    lift(d.steps), least: lift(d.least), objects: lift(d.objects),
		typed: lift(d.typed), overwrites: lift(d.overwrites), faults: lift(d.faults),
	}
	if k.span == "" {
		k.span = runrecord.Step
	}
	if d.check != nil {
		k.check = func(value any, c *spec.Checker) { d.check(value.(*S), c) }
	}
	if d.possible != nil {
		k.possible = func(value any, place Place) (string, error) { return d.possible(value.(*S), place) }
	}
	return k
}

// lift makes a function of any value of a function of an S; of a nil one, it makes a
// function that returns nothing.
func lift[S, R any](f func(*S) R) func(any) R {
	if f == nil {
		return func(any) (none R) { return none }
	}
	return func(value any) R { return f(value.(*S)) }
}

// Name, New, Check, Title, Steps and Least implement spec.StepKind.
func (k *kind) Name() string                     { return k.name }
func (k *kind) New() any                         { return k.newValue() }
func (k *kind) Check(c *spec.Checker, value any) { k.check(value, c) }
func (k *kind) Title(value any) string           { return k.title(value) }
func (k *kind) Steps(value any) [][]spec.Step    { return k.steps(value) }
func (k *kind) Least(value any) time.Duration    { return k.least(value) }

// kindOf returns the row of a step that was parsed with the table.
func kindOf(s *spec.Step) *kind { return s.Kind.(*kind) }

// stepOf returns a step of the named kind, for steps that are written in Go.
func stepOf(name string, value any) spec.Step {
	kinds := stepKinds()
	i := slices.IndexFunc(kinds, func(k *kind) bool { return k.name == name })
	return spec.Step{Kind: kinds[i], Value: value}
}

// grammar returns the table as the file's form needs it.
func grammar() []spec.StepKind {
	var all []spec.StepKind
	for _, k := range stepKinds() {
		all = append(all, k)
	}
	return all
}

// walk calls do for all steps of a scenario, with those within them and the last ones.
func walk(s *Scenario, do func(*spec.Step)) {
	spec.Walk(s.Spec.Steps, do)
	spec.Walk(s.Spec.Finally, do)
}

// collect returns the values of one kind that a scenario's steps have, such as objects.
func collect[T any](s *Scenario, of func(k *kind, value any) []T) []T {
	var all []T
	walk(s, func(step *spec.Step) { all = append(all, of(kindOf(step), step.Value)...) })
	return all
}
