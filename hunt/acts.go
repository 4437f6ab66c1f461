package hunt

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"minikcm.dev/minikcm"
)

// Users act while the operator works: they change a field and, after holdTime, change it back, or delete an object and create it again
// by the same name. Both lead back to where the object was, so the run must end as the undisturbed one.

const (
	// actLimit bounds an act, in the machine's time.
	actLimit = 10 * time.Second
	// maxSubjects caps the objects on which users can act.
	maxSubjects = 200
)

// subject is an object on which users can act.
type subject struct {
	resource schema.GroupVersionResource
	last     runtime.Object // its newest state
	users    bool           // a user has created it, not the operator
	edited   bool           // an edit is not over
	// kept says that it had finalizers before it was deleted.
	kept bool
}

// subjectKey names an object as an act does.
func subjectKey(r schema.GroupVersionResource, namespace, name string) string {
	return r.GroupResource().String() + " " + strings.TrimPrefix(namespace+"/"+name, "/")
}

// noteLocked keeps the newest state of what users and the operator have created. It reports whether an act has become due.
func (c *course) noteLocked(w *minikcm.Write, object runtime.Object) (due bool) {
	resource := schema.GroupVersionResource(w.Resource)
	key := subjectKey(resource, w.Namespace, w.Name)
	s := c.subjects[key]
	switch w.Effect {
	case minikcm.Removed:
		if again := c.recreating[key]; again != nil {
			delete(c.recreating, key)
			c.due = append(c.due, again)
			return true
		}
		return false
	case minikcm.Created:
		users := w.Actor != c.operator && !strings.HasPrefix(w.Actor, "system:")
		if s == nil && (users || w.Actor == c.operator) && !slices.Contains(notState, resource.Resource) && len(c.subjects) < maxSubjects {
			s = &subject{resource: resource, users: users}
			c.subjects[key] = s
		}
	}
	if s != nil {
		s.last = object
		if m, err := meta.Accessor(object); err == nil && len(m.GetFinalizers()) > 0 && m.GetDeletionTimestamp() == nil {
			s.kept = true
		}
	}
	return false
}

// actDue does what users do later. Nothing else is in flight.
func (c *course) actDue(ctx context.Context) {
	c.mu.Lock()
	due := c.due
	c.due = nil
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, actLimit)
	defer cancel()
	for _, act := range due {
		act(ctx)
	}
}

// later makes an act due.
func (c *course) later(act func(ctx context.Context)) {
	c.mu.Lock()
	c.due = append(c.due, act)
	c.mu.Unlock()
	c.awake()
}

// act does what a user does at a write. An act that is not possible is one whose write did not occur.
func (c *course) act(d *Disturbance) {
	c.mu.Lock()
	s := c.subjects[d.Resource+" "+d.Object]
	c.mu.Unlock()
	err := fmt.Errorf("%s %s does not exist", d.Resource, d.Object)
	switch {
	case d.Action == NodeLost:
		c.loseNodeLater(d)
		err = nil
	case s != nil:
		ctx, cancel := context.WithTimeout(context.Background(), actLimit)
		defer cancel()
		switch d.Action {
		case Edit:
			err = c.edit(ctx, s, d)
		case DeletePods:
			c.deletePodsLater(s, d)
			err = nil
		default:
			err = c.recreate(ctx, s, d)
		}
	}
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.planned = append(c.planned, *d)
	}
}

// on returns a client of the subject's object.
func (c *course) on(s *subject, namespace string) (dynamic.ResourceInterface, error) {
	client, err := dynamic.NewForConfig(c.cluster.Config())
	if err != nil {
		return nil, err
	}
	return client.Resource(s.resource).Namespace(namespace), nil
}

// finalizersPath is a field without which the operator may not see the object's deletion: if that comes before the field is changed back,
// what follows is the user's fault.
const finalizersPath = "metadata.finalizers"

// edit changes a field, and changes it back later.
func (c *course) edit(ctx context.Context, s *subject, d *Disturbance) error {
	namespace, name := splitRef(d.Object)
	objects, err := c.on(s, namespace)
	if err != nil {
		return err
	}
	object, err := objects.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if d.Path == finalizersPath && object.GetDeletionTimestamp() != nil {
		return fmt.Errorf("%s is being deleted", d.Object)
	}
	path := strings.Split(d.Path, ".")
	before, _, err := unstructured.NestedFieldNoCopy(object.Object, path...)
	if err != nil {
		return err
	}
	back, err := json.Marshal(before)
	if err != nil {
		return err
	}
	if !c.beginsEdit(s) {
		return fmt.Errorf("another edit of %s is not over: what this one changed back to would be the other one's", d.Object)
	}
	if _, err := objects.Patch(ctx, name, types.MergePatchType, mergePatch(path, d.Value), metav1.PatchOptions{}); err != nil {
		c.endsEdit(s)
		return err
	}
	c.cluster.Clock().AfterFunc(holdTime, func() {
		c.later(func(ctx context.Context) {
			// If the object is gone, there is nothing to change back.
			if _, err := objects.Patch(ctx, name, types.MergePatchType, mergePatch(path, string(back)), metav1.PatchOptions{}); err != nil && d.Path == finalizersPath {
				return // the act is never over, so that the run says nothing
			}
			c.endsEdit(s)
		})
	})
	return nil
}

// beginsEdit notes that an object is edited, unless it is already.
func (c *course) beginsEdit(s *subject) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.edited {
		return false
	}
	s.edited = true
	c.undoing++
	return true
}

func (c *course) endsEdit(s *subject) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.edited = false
	c.undoing--
}

// mergePatch sets a field to a value in JSON.
func mergePatch(path []string, value string) []byte {
	patch := value
	for _, field := range slices.Backward(path) {
		patch = fmt.Sprintf("{%q:%s}", field, patch)
	}
	return []byte(patch)
}

// recreate deletes an object, and creates it again when it is gone.
func (c *course) recreate(ctx context.Context, s *subject, d *Disturbance) error {
	namespace, name := splitRef(d.Object)
	objects, err := c.on(s, namespace)
	if err != nil {
		return err
	}
	object, err := objects.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if object.GetDeletionTimestamp() != nil {
		return fmt.Errorf("%s is being deleted", d.Object)
	}
	unstructured.RemoveNestedField(object.Object, "status")
	object.Object["metadata"] = map[string]any{}
	object.SetNamespace(namespace)
	object.SetName(name)
	if last, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s.last); err == nil {
		for _, field := range []string{"labels", "annotations"} {
			if value, ok, _ := unstructured.NestedFieldCopy(last, "metadata", field); ok {
				_ = unstructured.SetNestedField(object.Object, value, "metadata", field) // metadata is a map
			}
		}
	}
	key := d.Resource + " " + d.Object
	c.mu.Lock()
	c.recreating[key] = func(ctx context.Context) {
		_, err := objects.Create(ctx, object, metav1.CreateOptions{})
		c.mu.Lock()
		defer c.mu.Unlock()
		c.undoing--
		if err != nil { // another user has created it
			c.planned = append(c.planned, *d)
		}
	}
	c.undoing++
	c.mu.Unlock()
	background := metav1.DeletePropagationBackground
	return objects.Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &background})
}

func splitRef(ref string) (namespace, name string) {
	namespace, name, namespaced := strings.Cut(ref, "/")
	if !namespaced {
		return "", namespace
	}
	return namespace, name
}

// propose keeps in the outcome of an undisturbed run what users could have done.
func (c *course) propose(ctx context.Context, out *outcome) (err error) {
	if len(out.disturbances) == 0 {
		out.acts, err = c.possibleActs(ctx)
	}
	return err
}
