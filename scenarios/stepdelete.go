package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/internal/scenario/spec"
)

// Delete deletes objects, and does not wait until they are gone, as wait with for: delete
// does.
type Delete struct {
	// Target is KIND/NAME or, with Selector, KIND.
	Target    string `yaml:"target"`
	Selector  string `yaml:"selector"`
	Namespace string `yaml:"namespace"`
	// Grace is the grace period of a pod, in whole seconds; default: the pod's own.
	Grace *spec.Duration `yaml:"grace"`
	// Propagation is background, foreground or orphan.
	Propagation string `yaml:"propagation"`
	// MustExist makes the step fail if there is nothing to delete.
	MustExist bool `yaml:"mustExist"`
}

func (d *Delete) check(c *spec.Checker) {
	c.Check("target", spec.NamedOrSelected(d.Target, d.Selector))
	c.Check("selector", spec.LabelSelector(d.Selector))
	if d.Grace != nil && time.Duration(*d.Grace)%time.Second != 0 {
		c.Problem("grace", "must be whole seconds: %v", time.Duration(*d.Grace))
	}
	policies := []string{"background", "foreground", "orphan"}
	if d.Propagation != "" && !slices.Contains(policies, d.Propagation) {
		c.Problem("propagation", "%q is not a way to delete; %s", d.Propagation, spec.DidYouMean(d.Propagation, policies))
	}
}

func (d *Delete) title() string {
	return strings.TrimSuffix("delete "+d.Target+" "+d.Selector, " ")
}

func (b *branch) delete(ctx context.Context, d *Delete) error {
	client, name, _, err := b.run.named(d.Target, d.Namespace)
	if err != nil {
		return err
	}
	names := []string{name}
	if name == "" {
		list, err := client.List(ctx, metav1.ListOptions{LabelSelector: d.Selector})
		if err != nil {
			return fmt.Errorf("listing what is to be deleted: %w", err)
		}
		names = nil
		for i := range list.Items {
			names = append(names, list.Items[i].GetName())
		}
		slices.Sort(names)
	}
	if len(names) == 0 && d.MustExist {
		return errors.New("there is nothing to delete")
	}
	options := deleteOptions(d)
	for _, name := range names {
		err := client.Delete(ctx, name, options)
		switch {
		case apierrors.IsNotFound(err) && !d.MustExist:
			b.note("%s did not exist", name)
		case err != nil:
			return fmt.Errorf("deleting %s: %w", name, err)
		}
	}
	return nil
}

func deleteOptions(d *Delete) metav1.DeleteOptions {
	var options metav1.DeleteOptions
	if d.Grace != nil {
		options.GracePeriodSeconds = ptr.To(int64(time.Duration(*d.Grace) / time.Second))
	}
	policies := map[string]metav1.DeletionPropagation{
		"background": metav1.DeletePropagationBackground, "foreground": metav1.DeletePropagationForeground, "orphan": metav1.DeletePropagationOrphan,
	}
	if policy, given := policies[d.Propagation]; given {
		options.PropagationPolicy = &policy
	}
	return options
}
