package devicetainteviction

import (
	"context"
	"fmt"
	"slices"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	applymetav1 "k8s.io/client-go/applyconfigurations/meta/v1"
	applyv1 "k8s.io/client-go/applyconfigurations/resource/v1"

	"minikcm.dev/minikcm/controllers/internal/devicetainteviction/decide"
	"minikcm.dev/minikcm/controllers/internal/devicetaints"
	"minikcm.dev/minikcm/internal/loop"
)

// statusPeriod is the shortest time between two updates of the status of a rule, as upstream's.
const statusPeriod = 10 * time.Second

// ofSpec wakes a rule whose spec is new.
func ofSpec(ev loop.Event) []types.NamespacedName {
	if old, was := ev.Old.(*resourcev1.DeviceTaintRule); ev.Type == loop.Deleted || was && old.Generation == ev.Object.GetGeneration() {
		return nil
	}
	return loop.Self(ev)
}

// observeRule drops the counts of a rule that is gone.
func (c *Controller) observeRule(ev loop.Event) {
	if ev.Type == loop.Deleted {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.evicted, ev.Object.GetUID())
	}
}

// count counts an evicted pod.
func (c *Controller) count(rules []*resourcev1.DeviceTaintRule) {
	c.mu.Lock()
	for _, rule := range rules {
		c.evicted[rule.UID]++
	}
	c.mu.Unlock()
	c.showLater(rules)
}

// showLater updates the status of rules, for which more pods may come until then.
func (c *Controller) showLater(rules []*resourcev1.DeviceTaintRule) {
	for _, rule := range rules {
		c.statuses.AddAfter(types.NamespacedName{Name: rule.Name}, statusPeriod)
	}
}

// reconcileRule writes the status of a rule.
func (c *Controller) reconcileRule(ctx context.Context, rule *resourcev1.DeviceTaintRule) (loop.Result, error) {
	now := c.clock.Now()
	shown := meta.FindStatusCondition(rule.Status.Conditions, resourcev1.DeviceTaintConditionEvictionInProgress)
	if shown != nil && shown.ObservedGeneration == rule.Generation {
		// Its transition time is the time of the last update, even if only the message changed.
		if since := now.Sub(shown.LastTransitionTime.Time); since < statusPeriod {
			return loop.Result{RequeueAfter: statusPeriod - since}, nil
		}
	}
	counts, err := c.counts(rule)
	if err != nil {
		return loop.Result{}, err
	}
	condition := decide.Condition(rule, counts)
	if shown != nil {
		if condition.LastTransitionTime = shown.LastTransitionTime; condition == *shown {
			return loop.Result{}, nil
		}
	}
	condition.LastTransitionTime = metav1.NewTime(now)
	return loop.Result{}, c.show(ctx, rule, condition)
}

func (c *Controller) show(ctx context.Context, rule *resourcev1.DeviceTaintRule, condition metav1.Condition) error {
	status := applyv1.DeviceTaintRule(rule.Name).WithUID(rule.UID).WithStatus(applyv1.DeviceTaintRuleStatus().WithConditions(applymetav1.Condition().
		WithType(condition.Type).WithStatus(condition.Status).WithReason(condition.Reason).WithMessage(condition.Message).
		WithObservedGeneration(condition.ObservedGeneration).WithLastTransitionTime(condition.LastTransitionTime)))
	_, err := c.client.ResourceV1().DeviceTaintRules().ApplyStatus(ctx, status, metav1.ApplyOptions{FieldManager: Name, Force: true})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) { // it is gone, or another one has its name
		return fmt.Errorf("writing the status of DeviceTaintRule %s: %w", rule.Name, err)
	}
	return nil
}

// counts returns the numbers of pods and devices that a rule affects. A rule with another effect than
// NoExecute and None affects nothing.
func (c *Controller) counts(rule *resourcev1.DeviceTaintRule) (n decide.Counts, err error) {
	c.mu.Lock()
	n.Evicted = c.evicted[rule.UID]
	c.mu.Unlock()
	switch rule.Spec.Taint.Effect {
	case resourcev1.DeviceTaintEffectNone:
		n.Published = c.publishedBy(rule)
	case resourcev1.DeviceTaintEffectNoExecute:
	default:
		return n, nil
	}
	claims, err := c.claims.List(labels.Everything())
	if err != nil {
		return n, fmt.Errorf("listing resource claims: %w", err)
	}
	taint := rule.Spec.Taint
	taint.Effect = resourcev1.DeviceTaintEffectNoExecute
	pods, namespaces := map[types.NamespacedName]bool{}, map[string]bool{}
	for _, claim := range claims {
		if claim.Status.Allocation == nil {
			continue
		}
		evicts := false
		for i := range claim.Status.Allocation.Devices.Results {
			if r := &claim.Status.Allocation.Devices.Results[i]; devicetaints.Selects(rule, r.Driver, r.Pool, r.Device) {
				n.Allocated++
				evicts = evicts || decide.Evicts(&taint, r.Tolerations)
			}
		}
		if !evicts {
			continue
		}
		for _, key := range consumers(claim) {
			if c.waits(key, claim) {
				pods[key], namespaces[key.Namespace] = true, true
			}
		}
	}
	n.Pods, n.Namespaces = len(pods), len(namespaces)
	return n, nil
}

// waits reports whether a pod runs with a claim, and is not being deleted.
func (c *Controller) waits(key types.NamespacedName, claim *resourcev1.ResourceClaim) bool {
	pod, err := c.pods.Pods(key.Namespace).Get(key.Name)
	return err == nil && pod.DeletionTimestamp == nil && pod.Spec.NodeName != "" &&
		slices.ContainsFunc(claim.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool { return r.UID == pod.UID })
}

// publishedBy returns the number of devices of the newest slices that a rule selects.
func (c *Controller) publishedBy(rule *resourcev1.DeviceTaintRule) (selected int) {
	newest := map[string]int64{}
	var all []*resourcev1.ResourceSlice
	for _, obj := range c.slices.List() {
		if slice, ok := obj.(*resourcev1.ResourceSlice); ok {
			pool := slice.Spec.Driver + "/" + slice.Spec.Pool.Name
			all, newest[pool] = append(all, slice), max(newest[pool], slice.Spec.Pool.Generation)
		}
	}
	for _, slice := range all {
		if slice.Spec.Pool.Generation < newest[slice.Spec.Driver+"/"+slice.Spec.Pool.Name] {
			continue
		}
		for i := range slice.Spec.Devices {
			if devicetaints.Selects(rule, slice.Spec.Driver, slice.Spec.Pool.Name, slice.Spec.Devices[i].Name) {
				selected++
			}
		}
	}
	return selected
}
