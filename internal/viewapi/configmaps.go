package viewapi

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"minikcm.dev/minikcm"
)

// listTimeout bounds a look at the objects behind a kind, by the machine's clock.
const listTimeout = 10 * time.Second

// status is the status of an object.
type status struct {
	// ConfigMap is the namespace and name of the ConfigMap that has the spec.
	ConfigMap string   `json:"configMap"`
	Problems  []string `json:"problems,omitempty"`
}

// Now implements minikcm.LiveObjects.
func (o *configMaps) Now() []minikcm.LiveObject {
	ctx, cancel := context.WithTimeout(context.Background(), listTimeout)
	defer cancel()
	list, err := o.cluster.Client().CoreV1().ConfigMaps(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{LabelSelector: o.label})
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil { // by a fault of the API server or of etcd
		return o.last
	}
	o.last = nil
	for i := range list.Items {
		c := &list.Items[i]
		o.last = append(o.last, minikcm.LiveObject{Name: c.Name, Created: c.CreationTimestamp, Spec: o.decode(c), Status: o.statusOf(c)})
	}
	return o.last
}

func (o *configMaps) statusOf(c *corev1.ConfigMap) status {
	s := status{ConfigMap: c.Namespace + "/" + c.Name}
	for _, problem := range o.problems(c) {
		s.Problems = append(s.Problems, problem.text)
	}
	return s
}

// Changed implements minikcm.LiveObjects.
func (o *configMaps) Changed() <-chan struct{} { return o.news.Wait() }

// Create implements minikcm.LiveCreator.
func (o *configMaps) Create(ctx context.Context, name string, spec []byte, dryRun bool) error {
	c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceSystem, Labels: map[string]string{o.label: ""}}}
	client, err := o.write(ctx, spec, c)
	if err != nil {
		return err
	}
	defer o.news.Publish()
	_, err = client.Create(ctx, c, metav1.CreateOptions{DryRun: dry(dryRun)})
	if apierrors.IsAlreadyExists(err) {
		return apierrors.NewInvalid(o.groupKind(), name, field.ErrorList{
			field.Invalid(field.NewPath("metadata", "name"), name, fmt.Sprintf("the namespace %s has a ConfigMap of this name, without the label %s", c.Namespace, o.label)),
		})
	}
	return err
}

// Apply implements minikcm.LiveObjects.
func (o *configMaps) Apply(ctx context.Context, name string, spec []byte, dryRun bool) error {
	found, err := o.cluster.Client().CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading the ConfigMap of the %s %s: %w", o.kind, name, err)
	}
	client, err := o.write(ctx, spec, found)
	if err != nil {
		return err
	}
	defer o.news.Publish()
	_, err = client.Update(ctx, found, metav1.UpdateOptions{DryRun: dry(dryRun)})
	return err
}

// Delete implements minikcm.LiveCreator.
func (o *configMaps) Delete(ctx context.Context, name string, dryRun bool) error {
	client, err := clientFor(ctx, o.cluster)
	if err != nil {
		return err
	}
	defer o.news.Publish()
	if err := client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Delete(ctx, name, metav1.DeleteOptions{DryRun: dry(dryRun)}); !apierrors.IsNotFound(err) {
		return err
	}
	return nil
}

// write writes a spec into a ConfigMap, and returns the client of the request's user. It fails for what the nodes could not read.
func (o *configMaps) write(ctx context.Context, spec []byte, c *corev1.ConfigMap) (corev1client.ConfigMapInterface, error) {
	c.Data = map[string]string{}
	if err := o.encode(spec, c); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("reading the spec of the %s %s: %v", o.kind, c.Name, err))
	}
	var wrong field.ErrorList
	for _, problem := range o.problems(c) {
		path := field.NewPath("spec")
		if problem.field != "" {
			path = path.Child(problem.field)
		}
		wrong = append(wrong, field.Invalid(path, field.OmitValueType{}, problem.why))
	}
	if len(wrong) > 0 {
		return nil, apierrors.NewInvalid(o.groupKind(), c.Name, wrong)
	}
	client, err := clientFor(ctx, o.cluster)
	if err != nil {
		return nil, err
	}
	return client.CoreV1().ConfigMaps(metav1.NamespaceSystem), nil
}

func (o *configMaps) groupKind() schema.GroupKind {
	return schema.GroupKind{Group: group, Kind: o.kind}
}

func dry(run bool) []string {
	if run {
		return []string{metav1.DryRunAll}
	}
	return nil
}
