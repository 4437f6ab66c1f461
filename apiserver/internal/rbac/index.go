package rbac

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"

	"minikcm.dev/minikcm/internal/auth"
)

// Source has the objects of one kind.
type Source struct {
	// Version returns a number that grows with every change.
	Version func() int64
	// List returns the objects, including every change before the call. An object that has
	// not changed since the last call is the same pointer.
	List func(ctx context.Context) ([]runtime.Object, error)
}

// Sources are the objects that an Authorizer decides by.
type Sources struct{ Roles, ClusterRoles, RoleBindings, ClusterRoleBindings Source }

// kinds is the number of sources.
const kinds = 4

func (s *Sources) all() [kinds]*Source {
	return [kinds]*Source{&s.Roles, &s.ClusterRoles, &s.RoleBindings, &s.ClusterRoleBindings}
}

// name identifies a role or a binding; the namespace of ClusterRoles and
// ClusterRoleBindings is empty.
type name struct{ namespace, name string }

// subject is a user or a group. A service account is the user of its name.
type subject struct {
	group bool
	name  string
}

// binding is a RoleBinding or ClusterRoleBinding.
type binding struct {
	object   runtime.Object
	name     name
	ref      rbacv1.RoleRef
	subjects []rbacv1.Subject
}

// index has the rules by subject. The grants of a subject are compiled when it makes a
// request, and dropped when one of its bindings or their roles changes. A change
// therefore costs in proportion to the bindings that it concerns.
type index struct {
	sources Sources

	// refreshing is held while the sources are read.
	refreshing sync.Mutex

	mu       sync.RWMutex
	versions [kinds]int64
	loaded   bool
	roles    map[name]runtime.Object
	bindings map[name]*binding
	// ofSubject and ofRole are the bindings that name a subject or a role.
	ofSubject map[subject]map[*binding]bool
	ofRole    map[name]map[*binding]bool
	grants    map[subject]*grants
}

func newIndex(sources Sources) *index {
	return &index{
		sources: sources, roles: map[name]runtime.Object{}, bindings: map[name]*binding{},
		ofSubject: map[subject]map[*binding]bool{}, ofRole: map[name]map[*binding]bool{}, grants: map[subject]*grants{},
	}
}

// refresh brings the index up to date. If a source cannot be listed, the index stays as
// it is, and an error is returned only if it has never been complete.
func (x *index) refresh(ctx context.Context) error {
	if _, current := x.changed(); current {
		return nil
	}
	x.refreshing.Lock()
	defer x.refreshing.Unlock()
	now, current := x.changed()
	if current {
		return nil
	}
	var lists [kinds][]runtime.Object
	for i, s := range x.sources.all() {
		if x.loaded && x.versions[i] == now[i] {
			continue
		}
		var err error
		if lists[i], err = s.List(ctx); err != nil {
			if x.loaded {
				return nil
			}
			return fmt.Errorf("reading the rules of access control: %w", err)
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for i, objects := range lists {
		if !x.loaded || x.versions[i] != now[i] {
			x.take(i, objects)
		}
	}
	x.loaded, x.versions = true, now
	return nil
}

// changed returns the sources' versions, and whether the index is up to date with them.
func (x *index) changed() (now [kinds]int64, current bool) {
	for i, s := range x.sources.all() {
		now[i] = s.Version()
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	return now, x.loaded && x.versions == now
}

// take replaces the objects of the i-th source.
func (x *index) take(i int, objects []runtime.Object) {
	cluster := i%2 == 1
	found := make(map[name]bool, len(objects))
	for _, object := range objects {
		switch object := object.(type) {
		case *rbacv1.Role:
			found[name{object.Namespace, object.Name}] = true
			x.setRole(name{object.Namespace, object.Name}, object)
		case *rbacv1.ClusterRole:
			found[name{"", object.Name}] = true
			x.setRole(name{"", object.Name}, object)
		case *rbacv1.RoleBinding:
			b := &binding{object: object, name: name{object.Namespace, object.Name}, ref: object.RoleRef, subjects: object.Subjects}
			found[b.name] = true
			x.setBinding(b)
		case *rbacv1.ClusterRoleBinding:
			b := &binding{object: object, name: name{"", object.Name}, ref: object.RoleRef, subjects: object.Subjects}
			found[b.name] = true
			x.setBinding(b)
		}
	}
	if i < 2 {
		for n := range x.roles {
			if (n.namespace == "") == cluster && !found[n] {
				x.setRole(n, nil)
			}
		}
		return
	}
	for n, b := range x.bindings {
		if (n.namespace == "") == cluster && !found[n] {
			x.dropBinding(b)
		}
	}
}

// setRole adds or replaces a role, or removes it if object is nil.
func (x *index) setRole(n name, object runtime.Object) {
	if x.roles[n] == object {
		return
	}
	if object == nil {
		delete(x.roles, n)
	} else {
		x.roles[n] = object
	}
	for b := range x.ofRole[n] {
		x.forget(b)
	}
}

func (x *index) setBinding(b *binding) {
	if was := x.bindings[b.name]; was != nil {
		if was.object == b.object {
			return
		}
		x.dropBinding(was)
	}
	x.bindings[b.name] = b
	for _, s := range b.subjects {
		if key, ok := b.subjectKey(&s); ok {
			insert(x.ofSubject, key, b)
		}
	}
	if n, ok := b.role(); ok {
		insert(x.ofRole, n, b)
	}
	x.forget(b)
}

func (x *index) dropBinding(b *binding) {
	x.forget(b)
	delete(x.bindings, b.name)
	for _, s := range b.subjects {
		if key, ok := b.subjectKey(&s); ok {
			remove(x.ofSubject, key, b)
		}
	}
	if n, ok := b.role(); ok {
		remove(x.ofRole, n, b)
	}
}

// forget drops the compiled grants of a binding's subjects.
func (x *index) forget(b *binding) {
	for _, s := range b.subjects {
		if key, ok := b.subjectKey(&s); ok {
			delete(x.grants, key)
		}
	}
}

func insert[K comparable](sets map[K]map[*binding]bool, key K, b *binding) {
	if sets[key] == nil {
		sets[key] = map[*binding]bool{}
	}
	sets[key][b] = true
}

func remove[K comparable](sets map[K]map[*binding]bool, key K, b *binding) {
	delete(sets[key], b)
	if len(sets[key]) == 0 {
		delete(sets, key)
	}
}

// subjectKey returns the user or group that a subject of the binding stands for.
func (b *binding) subjectKey(s *rbacv1.Subject) (subject, bool) {
	switch s.Kind {
	case rbacv1.UserKind:
		return subject{name: s.Name}, true
	case rbacv1.GroupKind:
		return subject{group: true, name: s.Name}, true
	case rbacv1.ServiceAccountKind:
		namespace := cmp.Or(s.Namespace, b.name.namespace)
		return subject{name: serviceaccount.MakeUsername(namespace, s.Name)}, namespace != ""
	}
	return subject{}, false
}

// role returns the role that the binding refers to.
func (b *binding) role() (name, bool) {
	switch b.ref.Kind {
	case "Role":
		return name{b.name.namespace, b.ref.Name}, b.name.namespace != ""
	case "ClusterRole":
		return name{"", b.ref.Name}, true
	}
	return name{}, false
}

// rules returns the rules of the binding's role.
func (x *index) rules(b *binding) ([]rbacv1.PolicyRule, error) {
	return x.rulesOf(b.ref, b.name.namespace)
}

// rulesOf returns the rules of the role that a binding in namespace refers to.
func (x *index) rulesOf(ref rbacv1.RoleRef, namespace string) ([]rbacv1.PolicyRule, error) {
	n, ok := (&binding{ref: ref, name: name{namespace: namespace}}).role()
	if !ok {
		return nil, fmt.Errorf("unsupported role reference kind: %q", ref.Kind)
	}
	switch role := x.roles[n].(type) {
	case *rbacv1.Role:
		return role.Rules, nil
	case *rbacv1.ClusterRole:
		return role.Rules, nil
	}
	// As upstream's listers, the error has the singular.
	return nil, apierrors.NewNotFound(rbacv1.Resource(strings.ToLower(ref.Kind)), ref.Name)
}

// of returns the grants of a subject; nil if it has no bindings. The caller holds the lock
// for reading.
func (x *index) of(s subject) *grants {
	bound := x.ofSubject[s]
	if len(bound) == 0 {
		return nil
	}
	if g := x.grants[s]; g != nil {
		return g
	}
	x.mu.RUnlock()
	x.mu.Lock()
	if bound = x.ofSubject[s]; x.grants[s] == nil && len(bound) > 0 {
		x.grants[s] = x.compile(s, bound)
	}
	g := x.grants[s]
	x.mu.Unlock()
	x.mu.RLock()
	return g
}

func (x *index) compile(s subject, bound map[*binding]bool) *grants {
	g := &grants{namespaces: map[string]*scope{}}
	for _, b := range sorted(bound) {
		in := &g.everywhere
		if b.name.namespace != "" {
			if in = g.namespaces[b.name.namespace]; in == nil {
				in = &scope{}
				g.namespaces[b.name.namespace] = in
			}
		}
		rules, err := x.rules(b)
		if err != nil {
			in.missing = append(in.missing, err)
			continue
		}
		reason := "RBAC: allowed by " + b.describe(s)
		for i := range rules {
			in.add(&rules[i], reason)
		}
	}
	return g
}

// sorted returns bindings in a fixed order: ClusterRoleBindings first.
func sorted(bound map[*binding]bool) []*binding {
	all := make([]*binding, 0, len(bound))
	for b := range bound {
		all = append(all, b)
	}
	slices.SortFunc(all, func(a, b *binding) int {
		return cmp.Or(cmp.Compare(a.name.namespace, b.name.namespace), cmp.Compare(a.name.name, b.name.name))
	})
	return all
}

// describe returns upstream's description of a binding and its subject.
func (b *binding) describe(s subject) string {
	kind, bound := "ClusterRoleBinding", b.name.name
	if b.name.namespace != "" {
		kind, bound = "RoleBinding", b.name.name+"/"+b.name.namespace
	}
	var to string
	for i := range b.subjects {
		if key, ok := b.subjectKey(&b.subjects[i]); !ok || key != s {
			continue
		}
		found := &b.subjects[i]
		to = found.Name
		if found.Kind == rbacv1.ServiceAccountKind {
			to += "/" + cmp.Or(found.Namespace, b.name.namespace)
		}
		return fmt.Sprintf("%s %q of %s %q to %s %q", kind, bound, b.ref.Kind, b.ref.Name, found.Kind, to)
	}
	return fmt.Sprintf("%s %q of %s %q", kind, bound, b.ref.Kind, b.ref.Name)
}

// rulesFor returns all rules that apply to a user in a namespace, and the errors of
// bindings without a role.
func (x *index) rulesFor(user *auth.User, namespace string) ([]rbacv1.PolicyRule, []error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	bound := map[*binding]bool{}
	add := func(s subject) {
		for b := range x.ofSubject[s] {
			if b.name.namespace == "" || b.name.namespace == namespace {
				bound[b] = true
			}
		}
	}
	add(subject{name: user.Name})
	for _, group := range user.Groups {
		add(subject{group: true, name: group})
	}
	var all []rbacv1.PolicyRule
	var errs []error
	for _, b := range sorted(bound) {
		rules, err := x.rules(b)
		if err != nil {
			errs = append(errs, err)
		}
		all = append(all, rules...)
	}
	return all, errs
}
