package legacyserviceaccounttokencleaner

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"
	clocktesting "k8s.io/utils/clock/testing"

	"minikcm.dev/minikcm/clock/informers"
	"minikcm.dev/minikcm/controllers/internal/legacyserviceaccounttokencleaner/decide"
	"minikcm.dev/minikcm/internal/loop"
)

const year = cleanUpPeriod

var began = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

// cluster is the controller on client-go's fake clientset: a cluster in virtual time takes
// minutes for the years that tokens last. Its caches show what the clientset has when a pass
// begins.
type cluster struct {
	t          *testing.T
	client     *fake.Clientset
	informers  informers.Kinds
	controller *Controller
}

func newCluster(t *testing.T, objects ...runtime.Object) *cluster {
	t.Helper()
	client := fake.NewClientset(objects...)
	kinds := informers.KindsOf(client, nil)
	return &cluster{t: t, client: client, informers: kinds, controller: &Controller{
		client: client, logger: klog.Background(), period: year,
		accounts: kinds.ServiceAccounts().Lister(), secrets: kinds.Secrets().Lister(), pods: kinds.Pods().Lister(),
	}}
}

// pass makes a pass that begins after the time.
func (c *cluster) pass(after time.Duration) {
	c.t.Helper()
	accounts, err := c.client.CoreV1().ServiceAccounts("").List(c.t.Context(), metav1.ListOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	secrets, err := c.client.CoreV1().Secrets("").List(c.t.Context(), metav1.ListOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	pods, err := c.client.CoreV1().Pods("").List(c.t.Context(), metav1.ListOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	replace(c.t, c.informers.ServiceAccounts().Informer().GetStore().Replace, accounts.Items)
	replace(c.t, c.informers.Secrets().Informer().GetStore().Replace, secrets.Items)
	replace(c.t, c.informers.Pods().Informer().GetStore().Replace, pods.Items)
	c.controller.clock = clocktesting.NewFakePassiveClock(began.Add(after))
	result, err := c.controller.Reconcile(c.t.Context(), types.NamespacedName{})
	if err != nil || result != (loop.Result{RequeueAfter: interval}) {
		c.t.Errorf("after %v: %+v, %v", after, result, err)
	}
}

func replace[T any](t *testing.T, with func([]any, string) error, items []T) {
	t.Helper()
	var all []any
	for i := range items {
		all = append(all, &items[i])
	}
	if err := with(all, ""); err != nil {
		t.Fatal(err)
	}
}

// check checks whether a secret exists, and whether it is marked as invalid.
func (c *cluster) check(name string, exists, marked bool) {
	c.t.Helper()
	secret, err := c.client.CoreV1().Secrets("a").Get(c.t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) == exists {
		c.t.Fatalf("%s: %v, want it to exist: %v", name, err, exists)
	}
	if !exists {
		return
	}
	if _, is := secret.Labels[decide.InvalidSinceLabel]; is != marked {
		c.t.Errorf("%s has the labels %v, want it marked: %v", name, secret.Labels, marked)
	}
}

func tracking(since string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: trackingConfigMap},
		Data:       map[string]string{trackingKey: since},
	}
}

func tokenOf(account, name string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "a", Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(began),
			Annotations: map[string]string{corev1.ServiceAccountNameKey: account},
		},
		Type: corev1.SecretTypeServiceAccountToken,
	}
}

func accountWith(secrets ...string) *corev1.ServiceAccount {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "old"}}
	for _, name := range secrets {
		account.Secrets = append(account.Secrets, corev1.ObjectReference{Name: name})
	}
	return account
}

// TestUnusedTokensGo lets two years pass: after one, the unused token is marked as invalid,
// and after two it is deleted. A token that a pod refers to stays, as do one that its account
// does not list and one whose account does not exist.
func TestUnusedTokensGo(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "p"}, Spec: corev1.PodSpec{
		Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "mounted"}}}},
	}}
	c := newCluster(t, tracking("2030-01-01"), accountWith("unused", "mounted"), pod,
		tokenOf("old", "unused"), tokenOf("old", "mounted"), tokenOf("old", "unlisted"), tokenOf("gone", "ownerless"))
	c.pass(year)
	c.check("unused", true, false) // the day on which the recording began is not over
	c.pass(year + interval)
	c.check("unused", true, true)
	c.pass(2*year + interval)
	c.check("unused", true, true) // the day of the mark is not over
	c.pass(2*year + 2*interval)
	c.check("unused", false, false)
	for _, name := range []string{"mounted", "unlisted", "ownerless"} {
		c.check(name, true, false)
	}
}

// TestWithoutRecord checks that no token goes while it is unknown since when the use of
// tokens is recorded.
func TestWithoutRecord(t *testing.T) {
	for name, objects := range map[string][]runtime.Object{"none": nil, "malformed": {tracking("long ago")}} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, append(objects, accountWith("unused"), tokenOf("old", "unused"))...)
			c.pass(3 * year)
			c.check("unused", true, false)
		})
	}
}
