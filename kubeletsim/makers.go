package kubeletsim

import (
	"context"
	"fmt"
	"slices"
	"sync"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"

	"minikcm.dev/minikcm/internal/podspec"
	"minikcm.dev/minikcm/kubeletsim/internal/lifecycle"
)

// maxMakers bounds the namespaces of makers; further ones are not recorded.
const maxMakers = 10_000

// makers are the namespaces in which a program of which nothing is known has run to its end, and might create Secrets, as
// the hooks of charts do. A Secret that is missing there is assumed to exist.
type makers struct {
	mu sync.Mutex
	of map[string]bool
}

func (m *makers) add(namespace string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of == nil {
		m.of = map[string]bool{}
	}
	if len(m.of) < maxMakers {
		m.of[namespace] = true
	}
}

func (m *makers) in(namespace string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.of[namespace]
}

// accountOfAll is the service account that pods have by default, which no chart gives the permission to create Secrets.
const accountOfAll = "default"

// noteMaker records the namespace of a pod that has ended if its program may have created Secrets, and wakes the pods
// that miss some. It asks at the pod's end, because a chart may delete the permissions of a hook thereafter.
func (s *supplies) noteMaker(ctx context.Context, e *podEntry, pod *corev1.Pod) error {
	passed := func(c lifecycle.Container) bool { return c.Kind == podspec.AppContainer && lifecycle.Succeeded(&c) }
	unknown := func(c corev1.Container) bool { return !s.images.Of(&c).Known }
	account := pod.Spec.ServiceAccountName
	if account == "" || account == accountOfAll || !slices.ContainsFunc(e.state.Containers, passed) || !slices.ContainsFunc(pod.Spec.Containers, unknown) {
		return nil
	}
	of := serviceaccount.UserInfo(pod.Namespace, account, "")
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: of.GetName(), Groups: append(of.GetGroups(), user.AllAuthenticated),
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: pod.Namespace, Verb: "create", Version: "v1", Resource: "secrets"},
	}}
	answer, err := s.opts.Client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("asking whether %s may create secrets: %w", of.GetName(), err)
	}
	if !answer.Status.Allowed {
		return nil
	}
	s.makers.add(pod.Namespace)
	for _, secret := range s.secretsIn(pod.Namespace) {
		s.supplied(secret)
	}
	return nil
}

// assume reports whether a need of a pod is assumed to be met. An event says so, once.
func (s *supplies) assume(e *podEntry, pod *corev1.Pod, n lifecycle.Need) bool {
	if !n.Secret || n.Found || !s.makers.in(pod.Namespace) {
		return false
	}
	node := s.nodes.Get(pod.Spec.NodeName)
	if node == nil || e.assumed[n.Name] {
		return true
	}
	if e.assumed == nil {
		e.assumed = map[string]bool{}
	}
	e.assumed[n.Name] = true
	s.report(node, pod, []lifecycle.Event{{
		Kind: corev1.EventTypeNormal, Reason: "SecretAssumed",
		Message: fmt.Sprintf("The secret %q does not exist, but a program of unknown content may have created it: its content is unknown", n.Name),
	}})
	return true
}
