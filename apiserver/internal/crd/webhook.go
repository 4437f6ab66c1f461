package crd

import (
	"errors"
	"fmt"
	"net/http"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/conversion"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/util/webhook"

	"minikcm.dev/minikcm/apiserver/internal/codec"
	"minikcm.dev/minikcm/apiserver/internal/outbound"
	"minikcm.dev/minikcm/apiserver/internal/resources"
)

// Webhooks calls conversion webhooks. It is set up at the first call.
type Webhooks struct {
	converters func() (*conversion.CRConverterFactory, error)
}

// NewWebhooks returns a Webhooks that resolves webhooks named by a Service with
// services, except webhooks in simulated pods and those that are skipped.
func NewWebhooks(services webhook.ServiceResolver, inside outbound.Inside, skip outbound.Skip) *Webhooks {
	return &Webhooks{converters: sync.OnceValues(func() (*conversion.CRConverterFactory, error) {
		return conversion.NewCRConverterFactory(services, func(webhook.AuthenticationInfoResolver) webhook.AuthenticationInfoResolver {
			return outbound.Resolver{Inside: inside, Skip: skip}
		})
	})}
}

// errNoWebhooks is returned if a kind without Webhooks must be converted by a webhook.
var errNoWebhooks = errors.New("conversion webhooks are not called here")

func (k *kind) newWebhook() (runtime.ObjectConvertor, error) {
	if k.webhooks == nil {
		return nil, errNoWebhooks
	}
	converters, err := k.webhooks.converters()
	if err != nil {
		return nil, fmt.Errorf("setting up conversion webhooks: %w", err)
	}
	safe, _, err := converters.NewConverter(k.definition)
	if err != nil {
		return nil, fmt.Errorf("setting up the conversion webhook of %s: %w", k.definition.Name, err)
	}
	return safe, nil
}

// call lets the webhook convert an object, and returns the result; it does not modify
// u.
func (k *kind) call(u *unstructured.Unstructured, to schema.GroupVersion) (*unstructured.Unstructured, error) {
	if u.GroupVersionKind().GroupVersion() == to {
		return u, nil
	}
	converter, err := k.converts()
	if err != nil {
		return nil, conversionFailed(err)
	}
	out, err := converter.ConvertToVersion(u, to)
	if err != nil {
		return nil, conversionFailed(err)
	}
	converted, ok := out.(*unstructured.Unstructured)
	if !ok {
		return nil, conversionFailed(fmt.Errorf("conversion webhook for %v made a %T", u.GroupVersionKind(), out))
	}
	return converted, nil
}

// conversionFailed returns upstream's error: code 500 without a reason.
func conversionFailed(err error) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: err.Error(),
	}}
}

// storedForm encodes and decodes stored objects through the webhook, for a version
// other than the stored one.
func (v *oneVersion) storedForm() *resources.StoredForm {
	return &resources.StoredForm{Lossy: true, Encode: func(obj runtime.Object) ([]byte, error) {
		u, err := customObject(obj)
		if err != nil {
			return nil, err
		}
		converted, err := v.call(u, v.stored.gvk().GroupVersion())
		if err != nil {
			return nil, err
		}
		if _, err := v.stored.shape(converted, true); err != nil {
			return nil, err
		}
		return codec.Encode(codec.JSON, v.stored.gvk(), converted)
	}}
}
