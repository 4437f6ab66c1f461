package hooks

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission/plugin/policy/generic"
	"k8s.io/client-go/informers"

	"minikcm.dev/minikcm/apiserver/internal/resources"
)

// policySource has the compiled policies of one kind. It reads the server's objects in each
// request, instead of the watches and the refresh once a second of upstream's source, so
// that a policy or binding applies to all requests after the response to its write.
type policySource[P, B runtime.Object, E generic.Evaluator] struct {
	policies, bindings Objects
	table              func() *resources.Table
	params             Params

	policyOf  func(P) generic.PolicyAccessor
	bindingOf func(B) generic.BindingAccessor
	compile   func(P) E

	mu sync.Mutex
	// read is the state from which hooks were made.
	read     readState
	hooks    []generic.PolicyHook[P, B, E]
	compiled map[string]compiledPolicy[E]
}

// readState identifies what a source has read: the versions of the policies and bindings,
// and the table in which the kinds of parameters were looked up.
type readState struct {
	policies, bindings int64
	table              *resources.Table
}

// compiledPolicy is a compiled policy of one resourceVersion.
type compiledPolicy[E any] struct {
	version   string
	evaluator E
}

// Run implements generic.Source. There is nothing to run.
func (*policySource[P, B, E]) Run(context.Context) error { return nil }

// HasSynced implements generic.Source.
func (*policySource[P, B, E]) HasSynced() bool { return true }

// RunReloadLoop implements generic.ReloadableSource. There is nothing to run.
func (*policySource[P, B, E]) RunReloadLoop(context.Context) {}

// Hooks implements generic.Source: it returns the policies of the last refresh.
func (s *policySource[P, B, E]) Hooks() []generic.PolicyHook[P, B, E] {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hooks
}

// refresh reads the policies and bindings if they, or the served kinds, have changed.
func (s *policySource[P, B, E]) refresh(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	// The versions are those before the lists, so a change meanwhile is read next time.
	now := readState{s.policies.Version(), s.bindings.Version(), s.table()}
	if s.compiled != nil && now == s.read {
		return nil
	}
	policies, err := s.policies.KnownIn(ctx, "")
	if err != nil {
		return err
	}
	bindings, err := s.bindings.KnownIn(ctx, "")
	if err != nil {
		return err
	}
	s.make(now.table, policies, bindings)
	s.read = now
	return nil
}

// make makes the hooks of the policies that have bindings.
func (s *policySource[P, B, E]) make(table *resources.Table, policies, bindings []runtime.Object) {
	bound := map[string][]B{}
	for _, obj := range bindings {
		if binding, ok := obj.(B); ok {
			name := s.bindingOf(binding).GetPolicyName().Name
			bound[name] = append(bound[name], binding)
		}
	}
	before := s.compiled
	s.hooks, s.compiled = nil, map[string]compiledPolicy[E]{}
	for _, obj := range policies {
		policy, ok := obj.(P)
		if !ok {
			continue
		}
		accessor := s.policyOf(policy)
		name := accessor.GetName()
		if len(bound[name]) == 0 {
			continue
		}
		m, err := meta.Accessor(policy)
		if err != nil {
			continue
		}
		known, ok := before[name]
		if !ok || known.version != m.GetResourceVersion() {
			known = compiledPolicy[E]{m.GetResourceVersion(), s.compile(policy)}
		}
		s.compiled[name] = known
		hook := generic.PolicyHook[P, B, E]{Policy: policy, Bindings: bound[name], Evaluator: known.evaluator}
		if kind := accessor.GetParamKind(); kind != nil {
			hook.ParamInformer, hook.ParamScope, hook.ConfigurationError = s.paramsOf(table, kind.APIVersion, kind.Kind)
		}
		s.hooks = append(s.hooks, hook)
	}
}

// paramsOf returns the source of a policy's parameters.
func (s *policySource[P, B, E]) paramsOf(table *resources.Table, apiVersion, kind string) (informers.GenericInformer, meta.RESTScope, error) {
	version, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil, nil, fmt.Errorf("failed to parse paramKind APIVersion: %w", err)
	}
	row := table.ByKind(version.WithKind(kind))
	if row == nil {
		return nil, nil, fmt.Errorf("failed to find resource referenced by paramKind: '%v'", version.WithKind(kind))
	}
	scope := meta.RESTScopeRoot
	if row.Namespaced {
		scope = meta.RESTScopeNamespace
	}
	return newParams(s.params, row.GVR()), scope, nil
}
