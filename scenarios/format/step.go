package format

import "minikcm.dev/minikcm/scenarios/fault"

// Step is one thing to do: exactly one of its fields beside Name and Background is
// set.
type Step struct {
	// Name is shown in place of what the step says of itself.
	Name string `yaml:"name"`
	// Background lets the steps after this one begin at once; it ends by itself, or
	// with the run.
	Background bool `yaml:"background"`

	Apply     *Apply       `yaml:"apply"`
	Create    *Apply       `yaml:"create"`
	Patch     *Patch       `yaml:"patch"`
	Scale     *Scale       `yaml:"scale"`
	Delete    *Delete      `yaml:"delete"`
	Wait      *Wait        `yaml:"wait"`
	Sleep     *Duration    `yaml:"sleep"`
	Advance   *Duration    `yaml:"advance"`
	Script    *Script      `yaml:"script"`
	Kubectl   *Kubectl     `yaml:"kubectl"`
	Parallel  []Step       `yaml:"parallel"`
	Repeat    *Repeat      `yaml:"repeat"`
	ForEach   *ForEach     `yaml:"forEach"`
	Choose    *Choose      `yaml:"choose"`
	Include   *Include     `yaml:"include"`
	Kill      *Kill        `yaml:"kill"`
	Fault     *fault.Fault `yaml:"fault"`
	Expect    *Expect      `yaml:"expect"`
	Remember  *Remember    `yaml:"remember"`
	Reconcile *Reconcile   `yaml:"reconcile"`

	// Line is where the step is written.
	Line int `yaml:"-"`
	// File is in which file.
	File string `yaml:"-"`
}

// Apply is objects to apply, by server-side apply that overrides other owners, or to
// create.
type Apply struct {
	Objects []Object `yaml:"objects"`
	// Files are YAML or JSON files, or folders of them, relative to the scenario's.
	Files []string `yaml:"files"`
	// Kustomize are folders with a kustomization.
	Kustomize []string `yaml:"kustomize"`
	// Namespace is of objects that name none; default default.
	Namespace string `yaml:"namespace"`
	// Template replaces ${NAME} in Files too.
	Template bool `yaml:"template"`
	// Fails is a part of the error with which the server must refuse it.
	Fails string `yaml:"fails"`

	fromFiles []Object
	// created says that they must not be there yet.
	created bool
}

// All are the objects, from wherever.
func (a *Apply) All() []Object {
	return append(a.Objects[:len(a.Objects):len(a.Objects)], a.fromFiles...)
}

// Patch changes one object.
type Patch struct {
	// Target is KIND/NAME.
	Target      string `yaml:"target"`
	Namespace   string `yaml:"namespace"`
	Subresource string `yaml:"subresource"`
	// Type is strategic (the default for built-in kinds), merge or json.
	Type string `yaml:"type"`
	// Patch is the patch: a mapping, or for type json a list.
	Patch any `yaml:"patch"`
}

// Scale sets how many replicas something has, through its scale subresource.
type Scale struct {
	Target    string `yaml:"target"`
	Namespace string `yaml:"namespace"`
	Replicas  *int   `yaml:"replicas"`
}

// Delete deletes objects, and does not wait for their end: wait with for: delete does.
type Delete struct {
	// Target is KIND/NAME or, with Selector, KIND.
	Target    string `yaml:"target"`
	Selector  string `yaml:"selector"`
	Namespace string `yaml:"namespace"`
	// Grace is how long a pod may take, in whole seconds; default: what it says.
	Grace *Duration `yaml:"grace"`
	// Propagation is background, foreground or orphan.
	Propagation string `yaml:"propagation"`
	// MustExist makes it a failure if there is nothing to delete.
	MustExist bool `yaml:"mustExist"`
}

// Wait waits for objects, as kubectl wait does.
type Wait struct {
	// Target is KIND/NAME or, with Selector or for a count, KIND.
	Target    string `yaml:"target"`
	Selector  string `yaml:"selector"`
	Namespace string `yaml:"namespace"`
	// For is condition=NAME[=STATUS], jsonpath=EXPRESSION[=VALUE], cel=EXPRESSION,
	// create, delete, rollout, or count=N, count>=N, count<=N.
	For string `yaml:"for"`
	// Within is how much of the cluster's time may pass; default 1m.
	Within Duration `yaml:"within"`

	parsed For
}

// Script is a shell command, with KUBECONFIG set to the cluster, and the variables in
// its environment.
type Script struct {
	// Run is given to sh -eu.
	Run string `yaml:"run"`
	// Dir is where it runs; default the scenario's folder.
	Dir string `yaml:"dir"`
	// Env is added to the environment.
	Env map[string]string `yaml:"env"`
	// Speed is how many times faster than the machine's a virtual clock runs
	// meanwhile; default 10.
	Speed *int `yaml:"speed"`
	// Output must contain these texts.
	Output []string `yaml:"output"`
	// Fails says that it must end with an exit code other than 0.
	Fails bool `yaml:"fails"`
}

// Kubectl runs kubectl with these arguments: the built-in one, in its own process.
type Kubectl struct {
	// Args are the arguments, without kubectl itself.
	Args []string `yaml:"args"`
	// Stdin is what it reads.
	Stdin string `yaml:"stdin"`
	// Speed, Output and Fails are as of a script.
	Speed  *int     `yaml:"speed"`
	Output []string `yaml:"output"`
	Fails  bool     `yaml:"fails"`
}

// Repeat does steps again and again.
type Repeat struct {
	// Times is how often, or with Until at most.
	Times int `yaml:"times"`
	// Until ends the repetition as soon as it holds, looked at before each turn.
	Until *Expect `yaml:"until"`
	// Every is how much time lies between the beginnings of two turns.
	Every Duration `yaml:"every"`
	// Var is a variable that tells which turn it is, from 0.
	Var   string `yaml:"var"`
	Steps Body   `yaml:"steps"`
}

// ForEach does steps for each value of a list, or each object that matches.
type ForEach struct {
	// Var is the variable that is set; default ITEM.
	Var string `yaml:"var"`
	// In are the values.
	In []string `yaml:"in"`
	// Target is a kind: the values are the names of the objects there are, in order.
	Target    string `yaml:"target"`
	Namespace string `yaml:"namespace"`
	Selector  string `yaml:"selector"`
	Steps     Body   `yaml:"steps"`
}

// Choose does one of several, as the seed decides.
type Choose struct {
	// Count is how many of them, each once; default 1.
	Count int      `yaml:"count"`
	Of    []Option `yaml:"of"`
}

// Option is what may be chosen.
type Option struct {
	// Weight is how often compared with the others; default 1.
	Weight int    `yaml:"weight"`
	Steps  []Step `yaml:"steps"`
}

// Include does the steps of another file, of a document of kind Steps.
type Include struct {
	File string            `yaml:"file"`
	Vars map[string]string `yaml:"vars"`

	steps []Step
}

// Steps are those of the other file.
func (i *Include) Steps() []Step { return i.steps }

// Kill breaks something: Pods or Node.
type Kill struct {
	Pods *KillPods `yaml:"pods"`
	// Node is a node whose machine stops: its kubelet says nothing any more.
	Node string `yaml:"node"`
}

// KillPods deletes pods without grace, or evicts them with theirs.
type KillPods struct {
	Selector      string `yaml:"selector"`
	FieldSelector string `yaml:"fieldSelector"`
	Namespace     string `yaml:"namespace"`
	// Count is how many of those that match, chosen by the seed; default 1.
	Count int `yaml:"count"`
	// Evict asks for an eviction instead, which a PodDisruptionBudget may refuse; that
	// is noted, and no failure.
	Evict bool `yaml:"evict"`
}

// Reconcile runs one of the reconcilers that the scenario evolution compares.
type Reconcile struct {
	// By is polling, informer, shared or custom.
	By string `yaml:"by"`
	// For is how long.
	For Duration `yaml:"for"`
}
