package linearizability

import (
	"context"
	"errors"
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

const (
	namespace = metav1.NamespaceDefault
	maps      = "configmaps"
	valueKey  = "value"
)

// errRefused is the error of a request that certainly had no effect.
var errRefused = errors.New("the request was refused")

// request starts a request that is not repeated: client-go would repeat one that the server
// asks to, and record two as one.
func request(r *rest.Request) *rest.Request {
	return r.Namespace(namespace).Resource(maps).MaxRetries(0)
}

// do makes the request of an operation and returns it with its outcome. The error is
// errRefused if it had none; o is then to be forgotten.
func do(ctx context.Context, client kubernetes.Interface, o Operation) (Operation, error) {
	api := client.CoreV1().RESTClient()
	object := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: o.Key, Namespace: namespace},
		Data:       map[string]string{valueKey: o.Value},
	}
	var got corev1.ConfigMap
	var err error
	switch o.Verb {
	case Get:
		if err = request(api.Get()).Name(o.Key).Do(ctx).Into(&got); err == nil {
			o.Value = got.Data[valueKey]
		}
	case Create:
		err = request(api.Post()).Body(object).Do(ctx).Into(&got)
	case Update:
		object.ResourceVersion = strconv.FormatInt(o.Expected, 10)
		err = request(api.Put()).Name(o.Key).Body(object).Do(ctx).Into(&got)
	case Delete:
		revision := strconv.FormatInt(o.Expected, 10)
		err = request(api.Delete()).Name(o.Key).Body(&metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &revision}}).Do(ctx).Error()
	}
	if o.Outcome, err = outcomeOf(err); err == nil && o.Outcome == Done && o.Verb != Delete {
		o.Revision, err = revisionOf(&got)
	}
	return o, err
}

// list returns an observation of each key, all at one revision.
func list(ctx context.Context, client kubernetes.Interface, keys []string) ([]Operation, error) {
	found, err := listAll(ctx, client)
	if err != nil {
		return nil, err
	}
	revision, err := revisionOf(found)
	if err != nil {
		return nil, err
	}
	observed := make([]Operation, len(keys))
	for i, key := range keys {
		observed[i] = Operation{Verb: List, Key: key, Outcome: NotFound, ListRevision: revision}
		for j := range found.Items {
			if found.Items[j].Name != key {
				continue
			}
			observed[i].Outcome, observed[i].Value = Done, found.Items[j].Data[valueKey]
			if observed[i].Revision, err = revisionOf(&found.Items[j]); err != nil {
				return nil, err
			}
		}
	}
	return observed, nil
}

func listAll(ctx context.Context, client kubernetes.Interface) (*corev1.ConfigMapList, error) {
	found := &corev1.ConfigMapList{}
	err := request(client.CoreV1().RESTClient().Get()).VersionedParams(&metav1.ListOptions{}, scheme.ParameterCodec).Do(ctx).Into(found)
	return found, err
}

// outcomeOf returns what a response says about its request.
func outcomeOf(err error) (Outcome, error) {
	var dial *net.OpError
	switch {
	case err == nil:
		return Done, nil
	case apierrors.IsAlreadyExists(err):
		return Exists, nil
	case apierrors.IsNotFound(err):
		return NotFound, nil
	case apierrors.IsConflict(err):
		return Conflict, nil
	case apierrors.IsTooManyRequests(err), errors.As(err, &dial) && dial.Op == "dial":
		return "", errRefused
	}
	return Unknown, nil
}

func revisionOf(obj interface{ GetResourceVersion() string }) (int64, error) {
	return strconv.ParseInt(obj.GetResourceVersion(), 10, 64)
}
