package controllers_test

import (
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
)

// TestAnnotationRollsBack requests the previous revision by the annotation, as clients of
// extensions/v1beta1 did.
func TestAnnotationRollsBack(t *testing.T) {
	t.Parallel()
	const annotation = "deprecated.deployment.rollback.to"
	c := newDeploymentCluster(t, 2, nil)
	c.eventually("the first rollout", complete)
	c.update(image("nginx:2"))
	c.eventually("the second rollout", complete)
	c.update(func(d *appsv1.Deployment) { d.Annotations[annotation] = "0" })
	c.eventually("the way back", func(d *appsv1.Deployment) error {
		if _, asks := d.Annotations[annotation]; asks || d.Annotations[revision] != "3" || d.Spec.Template.Spec.Containers[0].Image != "nginx:1" {
			return errors.New("not yet")
		}
		return complete(d)
	})
}
