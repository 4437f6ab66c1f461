package controllers_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/minikcmtest"
)

func newQuota(t *testing.T, client kubernetes.Interface, limits corev1.ResourceList) {
	t.Helper()
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "q"}, Spec: corev1.ResourceQuotaSpec{Hard: limits}}
	if _, err := client.CoreV1().ResourceQuotas("default").Create(t.Context(), quota, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// used checks that the quota's status is complete and shows this usage.
func quotaUsed(want ...string) func(context.Context, kubernetes.Interface) error {
	return func(ctx context.Context, client kubernetes.Interface) error {
		quota, err := client.CoreV1().ResourceQuotas("default").Get(ctx, "q", metav1.GetOptions{})
		if err != nil {
			return err
		}
		for name, quantity := range amounts(want...) {
			if got, known := quota.Status.Used[name]; !known || got.Cmp(quantity) != 0 {
				return fmt.Errorf("of %s, %s is used, not %s (%+v)", name, got.String(), quantity.String(), quota.Status.Used)
			}
		}
		return nil
	}
}

func podRequesting(name string, requests corev1.ResourceList) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Name: "c", Image: "nginx", Resources: corev1.ResourceRequirements{Requests: requests},
	}}}}
}

func TestQuotaLimitsAndGivesBack(t *testing.T) {
	cluster := minikcmtest.New(t, minikcmtest.WithVirtualTime())
	ctx, client := t.Context(), cluster.Client()
	newQuota(t, client, amounts("requests.cpu", "1", "pods", "5", "secrets", "1", "count/deployments.apps", "0", "services.nodeports", "1"))
	cluster.Eventually("all to be counted", quotaUsed("requests.cpu", "0", "pods", "0", "secrets", "0", "count/deployments.apps", "0", "services.nodeports", "0"))

	pods := client.CoreV1().Pods("default")
	if _, err := pods.Create(ctx, podRequesting("a", amounts("cpu", "600m")), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := quotaUsed("requests.cpu", "600m", "pods", "1")(ctx, client); err != nil {
		t.Errorf("when the pod is admitted: %v", err)
	}
	_, err := pods.Create(ctx, podRequesting("b", amounts("cpu", "600m")), metav1.CreateOptions{})
	wantForbidden(t, err, `pods "b" is forbidden: exceeded quota: q, requested: requests.cpu=600m, used: requests.cpu=600m, limited: requests.cpu=1`)
	_, err = pods.Create(ctx, podRequesting("b", nil), metav1.CreateOptions{})
	wantForbidden(t, err, `pods "b" is forbidden: failed quota: q: must specify requests.cpu for: c`)
	if _, err := pods.Create(ctx, podRequesting("b", amounts("cpu", "100m")), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		t.Errorf("dry run: %v", err)
	}
	if err := quotaUsed("pods", "1")(ctx, client); err != nil {
		t.Errorf("after the dry run: %v", err)
	}

	secrets := client.CoreV1().Secrets("default")
	if _, err := secrets.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err = secrets.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "t"}}, metav1.CreateOptions{})
	wantForbidden(t, err, `secrets "t" is forbidden: exceeded quota: q, requested: secrets=1, used: secrets=1, limited: secrets=1`)

	for _, err := range []error{pods.Delete(ctx, "a", metav1.DeleteOptions{}), secrets.Delete(ctx, "s", metav1.DeleteOptions{})} {
		if err != nil {
			t.Fatal(err)
		}
	}
	cluster.Eventually("all to be given back", quotaUsed("requests.cpu", "0", "pods", "0", "secrets", "0"))
}

// TestQuotaUnderConcurrency checks that concurrent creates do not exceed the quota.
func TestQuotaUnderConcurrency(t *testing.T) {
	const limit, asked = 7, 40
	cluster := minikcmtest.New(t, minikcmtest.WithVirtualTime())
	ctx, client := t.Context(), cluster.Client()
	newQuota(t, client, amounts("pods", fmt.Sprint(limit)))
	cluster.Eventually("pods to be counted", quotaUsed("pods", "0"))
	var created atomic.Int64
	var group sync.WaitGroup
	for i := range asked {
		group.Go(func() {
			_, err := client.CoreV1().Pods("default").Create(ctx, podRequesting(fmt.Sprintf("p-%d", i), nil), metav1.CreateOptions{})
			switch {
			case err == nil:
				created.Add(1)
			case !apierrors.IsForbidden(err):
				t.Error(err)
			}
		})
	}
	group.Wait()
	if created.Load() != limit {
		t.Errorf("%d pods were created under a quota of %d", created.Load(), limit)
	}
	cluster.Eventually("the quota to be used up", quotaUsed("pods", fmt.Sprint(limit)))
}

// TestQuotaOfCountedKinds checks that concurrent creates do not exceed the quota of a kind
// whose objects wake the controller, so that it counts while they are created.
func TestQuotaOfCountedKinds(t *testing.T) {
	const limit, asked, rounds = 20, 60, 8
	cluster := minikcmtest.New(t)
	ctx, client := t.Context(), cluster.Client()
	newQuota(t, client, amounts("configmaps", fmt.Sprint(limit)))
	maps := client.CoreV1().ConfigMaps("default")
	for range rounds {
		cluster.Eventually("the objects to be counted", func(ctx context.Context, client kubernetes.Interface) error {
			kept, err := maps.List(ctx, metav1.ListOptions{})
			if err != nil {
				return err
			}
			return quotaUsed("configmaps", fmt.Sprint(len(kept.Items)))(ctx, client)
		})
		var group sync.WaitGroup
		for i := range asked {
			group.Go(func() {
				object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("m-%d", i), Labels: map[string]string{"round": "yes"}}}
				if _, err := maps.Create(ctx, object, metav1.CreateOptions{}); err != nil && !apierrors.IsForbidden(err) {
					t.Error(err)
				}
			})
		}
		group.Wait()
		all, err := maps.List(ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if len(all.Items) != limit {
			t.Fatalf("%d ConfigMaps exist under a quota of %d", len(all.Items), limit)
		}
		if err := maps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "round=yes"}); err != nil {
			t.Fatal(err)
		}
	}
}

func wantForbidden(t *testing.T, err error, text string) {
	t.Helper()
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), text) {
		t.Errorf("the error is %v, want %s", err, text)
	}
}

// amounts parses pairs such as "pods", "1", "cpu", "100m".
func amounts(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}
