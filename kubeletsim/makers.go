package kubeletsim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"

	"minikcm.dev/minikcm/kubeletsim/lifecycle"
	"minikcm.dev/minikcm/kubeletsim/podspec"
)

// maxMakers bounds the namespaces of makers; those of further ones are not recorded.
const maxMakers = 10_000

// makers are the service accounts whose pods have run a program of which nothing is known to its end, by namespace.
// Such a program may have created Secrets, as the hooks of charts do: see assumesSecret.
type makers struct {
	mu sync.Mutex
	of map[string]map[string]bool
}

func (m *makers) add(namespace, account string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of == nil {
		m.of = map[string]map[string]bool{}
	}
	if m.of[namespace] == nil {
		if len(m.of) >= maxMakers {
			return
		}
		m.of[namespace] = map[string]bool{}
	}
	m.of[namespace][account] = true
}

func (m *makers) in(namespace string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.of[namespace]))
}

// noteMaker records the service account of a pod that has ended, and wakes the pods that miss Secrets of its namespace.
func (k *Kubelets) noteMaker(e *podEntry, pod *corev1.Pod) {
	passed := func(c lifecycle.Container) bool { return c.Kind == podspec.AppContainer && lifecycle.Succeeded(&c) }
	unknown := func(c corev1.Container) bool { return !k.images.Of(&c).Known }
	if !slices.ContainsFunc(e.state.Containers, passed) || !slices.ContainsFunc(pod.Spec.Containers, unknown) {
		return
	}
	k.makers.add(pod.Namespace, pod.Spec.ServiceAccountName)
	for _, s := range k.supplies.secretsIn(pod.Namespace) {
		k.supplied(s)
	}
}

// assumesSecret reports whether a Secret that does not exist is assumed to be there: a program of which nothing is known
// has run to its end in the namespace, and its service account may create the Secret and read it.
func (k *Kubelets) assumesSecret(ctx context.Context, namespace, name string) (bool, error) {
	for _, account := range k.makers.in(namespace) {
		of := serviceaccount.UserInfo(namespace, account, "")
		creates, err := k.maySecrets(ctx, of, &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "create"})
		if err != nil {
			return false, err
		}
		if !creates {
			continue
		}
		reads, err := k.maySecrets(ctx, of, &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "get", Name: name})
		if err != nil || reads {
			return reads, err
		}
	}
	return false, nil
}

// maySecrets reports whether a user may do something with Secrets.
func (k *Kubelets) maySecrets(ctx context.Context, of user.Info, what *authorizationv1.ResourceAttributes) (bool, error) {
	what.Version, what.Resource = "v1", "secrets"
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: of.GetName(), Groups: append(of.GetGroups(), user.AllAuthenticated), ResourceAttributes: what}}
	answer, err := k.opts.Client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("asking whether %s may %s secrets: %w", of.GetName(), what.Verb, err)
	}
	return answer.Status.Allowed, nil
}

// assume reports whether a need of a pod is assumed to be met. An event says so, once.
func (k *Kubelets) assume(ctx context.Context, e *podEntry, pod *corev1.Pod, n lifecycle.Need) (bool, error) {
	if !n.Secret || n.Found {
		return false, nil
	}
	assumed, err := k.assumesSecret(ctx, pod.Namespace, n.Name)
	if err != nil || !assumed || e.assumed[n.Name] {
		return assumed, err
	}
	if e.assumed == nil {
		e.assumed = map[string]bool{}
	}
	e.assumed[n.Name] = true
	if node := k.nodes.Get(pod.Spec.NodeName); node != nil {
		k.report(node, pod, []lifecycle.Event{{
			Kind: corev1.EventTypeNormal, Reason: "SecretAssumed",
			Message: fmt.Sprintf("The secret %q does not exist, but a program of unknown content may have created it: its content is unknown", n.Name),
		}})
	}
	return true, nil
}
