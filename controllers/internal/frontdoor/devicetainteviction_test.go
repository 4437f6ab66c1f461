package controllers_test

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/minikcmtest"
)

// TestTaintedDevice taints the devices of a node by a rule. One pod tolerates that for a minute: its
// eviction is cancelled with the rule.
func TestTaintedDevice(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := minikcmtest.New(t, minikcmtest.WithVirtualTime(), minikcmtest.WithNodes(0), minikcmtest.WithOptions(func(o *minikcm.Options) {
		o.Nodes.Pools = []minikcm.Pool{{Name: "gpu", Count: 1, Node: minikcm.NodeSpec{Annotations: map[string]string{"minikcm.dev/devices": "gpu.example.com 2"}}}}
	}))
	resources, pods := c.Client().ResourceV1(), c.Client().CoreV1().Pods("default")
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	run := func(name string, tolerations ...resourcev1.DeviceToleration) {
		claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
		claim.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu.example.com", Tolerations: tolerations}}}
		must(resources.ResourceClaims("default").Create(ctx, claim, metav1.CreateOptions{}))
		must(pods.Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "c", Image: "i"}}, ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: &name}},
		}}, metav1.CreateOptions{}))
		c.Eventually(name+" to run", func(ctx context.Context, _ kubernetes.Interface) error {
			p, err := pods.Get(ctx, name, metav1.GetOptions{})
			if err == nil && p.Status.Phase != corev1.PodRunning {
				err = errors.New(string(p.Status.Phase))
			}
			return err
		})
	}
	run("a")
	run("b", resourcev1.DeviceToleration{
		Key: "broken", Operator: resourcev1.DeviceTolerationOpExists, Effect: resourcev1.DeviceTaintEffectNoExecute, TolerationSeconds: ptr.To[int64](60),
	})
	rule := &resourcev1.DeviceTaintRule{ObjectMeta: metav1.ObjectMeta{Name: "broken"}, Spec: resourcev1.DeviceTaintRuleSpec{
		DeviceSelector: &resourcev1.DeviceTaintSelector{Driver: ptr.To("gpu.example.com")},
		Taint:          resourcev1.DeviceTaint{Key: "broken", Effect: resourcev1.DeviceTaintEffectNoExecute},
	}}
	dry := rule.DeepCopy()
	dry.Name, dry.Spec.Taint.Effect = "dry", resourcev1.DeviceTaintEffectNone
	must(resources.DeviceTaintRules().Create(ctx, dry, metav1.CreateOptions{}))
	eventuallyCondition(c, "dry", "False NoEffect 2 published devices selected. 2 allocated devices selected. 2 pods would be evicted in 1 namespace if the effect was NoExecute. "+
		"This information will not be updated again. Recreate the DeviceTaintRule to trigger an update.")
	must(resources.DeviceTaintRules().Create(ctx, rule, metav1.CreateOptions{}))
	c.EventuallyEvent("default", "Pod", "Normal DeviceTaintManagerEviction Marking for deletion")
	c.Eventually("a to go", func(ctx context.Context, _ kubernetes.Interface) error {
		if _, err := pods.Get(ctx, "a", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("it is there"), err)
		}
		return nil
	})
	eventuallyCondition(c, "broken", "True PodsPendingEviction 1 pod needs to be evicted in 1 namespace. 1 pod evicted since starting the controller.")
	must(nil, resources.DeviceTaintRules().Delete(ctx, "broken", metav1.DeleteOptions{}))
	c.EventuallyEvent("default", "Pod", "Normal DeviceTaintManagerEviction Cancelling deletion")
	must(nil, c.Advance(ctx, 2*time.Minute))
	must(pods.Get(ctx, "b", metav1.GetOptions{}))
}

// eventuallyCondition waits until a DeviceTaintRule has a condition with this status, reason and message.
func eventuallyCondition(c *minikcmtest.Cluster, rule, want string) {
	c.Eventually(rule+" to have its condition", func(ctx context.Context, client kubernetes.Interface) error {
		r, err := client.ResourceV1().DeviceTaintRules().Get(ctx, rule, metav1.GetOptions{})
		if err != nil {
			return err
		}
		got := ""
		if found := meta.FindStatusCondition(r.Status.Conditions, resourcev1.DeviceTaintConditionEvictionInProgress); found != nil {
			got = string(found.Status) + " " + found.Reason + " " + found.Message
		}
		if got != want {
			return errors.New("it is " + got)
		}
		return nil
	})
}
