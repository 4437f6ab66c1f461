package accessrecord

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/component-helpers/auth/rbac/validation"

	"minikcm.dev/minikcm/internal/auth"
	"minikcm.dev/minikcm/internal/leastprivilege"
)

// Recorder is the Authorizer of a server that can record. Its methods may be called
// concurrently.
type Recorder struct {
	inner, rules auth.Authorizer

	mu sync.Mutex // serializes changes of users
	// users has the running recordings by the user's name; nil if there are none.
	users atomic.Pointer[map[string]*Recording]
}

// New returns a Recorder that decides as inner. Requests that rules allow every
// authenticated user are not recorded.
func New(inner, rules auth.Authorizer) *Recorder { return &Recorder{inner: inner, rules: rules} }

// Inner returns the Authorizer that decides.
func (z *Recorder) Inner() auth.Authorizer { return z.inner }

// Start begins to record the requests of a user. With enforce, the user may still do only
// what inner allows. It returns an AlreadyExists error if the user is being recorded.
func (z *Recorder) Start(user string, enforce bool) (*Recording, error) {
	if user == "" {
		return nil, apierrors.NewBadRequest("the user whose requests are to be recorded is missing")
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	users := map[string]*Recording{}
	if known := z.users.Load(); known != nil {
		users = maps.Clone(*known)
	}
	if users[user] != nil {
		err := apierrors.NewConflict(rbacv1.Resource("recordings"), user, fmt.Errorf("the requests of user %q are being recorded already", user))
		return nil, err
	}
	r := &Recording{recorder: z, user: user, enforce: enforce, found: map[key]*entry{}}
	users[user] = r
	z.users.Store(&users)
	return r, nil
}

func (z *Recorder) end(r *Recording) {
	z.mu.Lock()
	defer z.mu.Unlock()
	known := z.users.Load()
	if known == nil || (*known)[r.user] != r {
		return
	}
	users := maps.Clone(*known)
	delete(users, r.user)
	if len(users) == 0 {
		z.users.Store(nil)
		return
	}
	z.users.Store(&users)
}

func (z *Recorder) of(user *auth.User) *Recording {
	if users := z.users.Load(); users != nil {
		return (*users)[user.Name]
	}
	return nil
}

// Authorize implements auth.Authorizer.
func (z *Recorder) Authorize(ctx context.Context, a auth.Attributes) (auth.Decision, string, error) {
	decision, reason, err := z.inner.Authorize(ctx, a)
	r := z.of(a.User)
	if r == nil || isAlternative(a.Verb) {
		return decision, reason, err
	}
	if !z.allowsAll(ctx, a) {
		r.note(requestOf(&a), decision != auth.Allow)
		if a.Verb == "watch" {
			z.noteList(ctx, r, a)
		}
	}
	if decision == auth.Allow || r.enforce {
		return decision, reason, err
	}
	return auth.Allow, recordedReason, nil
}

// noteList records the list that a watch may need: client-go lists where a server does not
// stream the initial state.
func (z *Recorder) noteList(ctx context.Context, r *Recording, a auth.Attributes) {
	a.Verb = "list"
	decision, _, _ := z.inner.Authorize(ctx, a) // an error allows nothing
	r.note(requestOf(&a), decision != auth.Allow)
}

const recordedReason = "allowed while the user's requests are recorded"

// isAlternative reports whether a verb is asked for although another permission is enough:
// the modes of constrained impersonation are tried before the verb impersonate, and escalate
// and bind before the granted rules.
func isAlternative(verb string) bool {
	return verb == "escalate" || verb == "bind" || strings.HasPrefix(verb, "impersonate-on:") || strings.HasPrefix(verb, "impersonate:")
}

// allowsAll reports whether roles allow a request of every authenticated user, or of every
// service account if the user is one.
func (z *Recorder) allowsAll(ctx context.Context, a auth.Attributes) bool {
	anyone := &auth.User{Groups: []string{auth.GroupAuthenticated}}
	if _, _, err := serviceaccount.SplitUsername(a.User.Name); err == nil {
		anyone.Groups = append(anyone.Groups, serviceaccount.AllServiceAccountsGroup)
	}
	a.User = anyone
	decision, _, _ := z.rules.Authorize(ctx, a) // an error allows nothing
	return decision == auth.Allow
}

// RulesFor implements auth.Authorizer.
func (z *Recorder) RulesFor(ctx context.Context, user *auth.User, namespace string) (auth.Rules, error) {
	return z.inner.RulesFor(ctx, user, namespace)
}

// Grant records that a user grants rules in a namespace (empty for all), which the user has
// to hold. It reports whether the user may grant them because of the recording.
func (z *Recorder) Grant(user *auth.User, namespace string, rules []rbacv1.PolicyRule) bool {
	r := z.of(user)
	if r == nil {
		return false
	}
	_, single := validation.Covers(nil, rules) // each has one verb, and one resource or path
	for i := range single {
		rule := &single[i]
		request := leastprivilege.Request{Verb: rule.Verbs[0], Namespace: namespace, Names: rule.ResourceNames, Granted: true}
		if len(rule.NonResourceURLs) > 0 {
			request.Path, request.Namespace = rule.NonResourceURLs[0], ""
		} else {
			request.Group, request.Resource = rule.APIGroups[0], rule.Resources[0]
		}
		r.note(request, false)
	}
	return !r.enforce
}

// Questions returns an Authorizer with the same decisions that records nothing: for
// questions about what a user may do, which are no requests.
func (z *Recorder) Questions() auth.Authorizer { return questions{z} }

type questions struct{ recorder *Recorder }

// Authorize implements auth.Authorizer.
func (q questions) Authorize(ctx context.Context, a auth.Attributes) (auth.Decision, string, error) {
	if r := q.recorder.of(a.User); r != nil && !r.enforce {
		return auth.Allow, recordedReason, nil
	}
	return q.recorder.inner.Authorize(ctx, a)
}

// RulesFor implements auth.Authorizer.
func (q questions) RulesFor(ctx context.Context, user *auth.User, namespace string) (auth.Rules, error) {
	return q.recorder.inner.RulesFor(ctx, user, namespace)
}

func requestOf(a *auth.Attributes) leastprivilege.Request {
	if !a.Resource {
		return leastprivilege.Request{Verb: a.Verb, Path: a.Path}
	}
	request := leastprivilege.Request{Verb: a.Verb, Group: a.Group, Resource: a.Plural, Namespace: a.Namespace}
	if a.Subresource != "" {
		request.Resource += "/" + a.Subresource
	}
	if a.Name != "" {
		request.Names = []string{a.Name}
	}
	if a.Group == "" && a.Plural == "namespaces" {
		request.Namespace = "" // upstream sets it to the name of the Namespace
	}
	return request
}
