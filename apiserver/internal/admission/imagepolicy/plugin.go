package imagepolicy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	imagepolicyv1alpha1 "k8s.io/api/imagepolicy/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/apiserver/internal/admission"
	"minikcm.dev/minikcm/apiserver/internal/outbound"
	"minikcm.dev/minikcm/clock"
)

const (
	// forwarded is part of the names of a pod's annotations that the webhook receives.
	forwarded = ".image-policy.k8s.io/"
	// auditPrefix precedes the plugin's annotations of audit events.
	auditPrefix = "imagepolicywebhook.image-policy.k8s.io/"
	// failedOpen is the annotation of a pod that was admitted although the webhook failed.
	failedOpen = "alpha.image-policy.k8s.io/failed-open"
	// maxAnswers caps the answers that are kept.
	maxAnswers = 1024
)

// Plugin is a Checker. Its methods may be called concurrently.
type Plugin struct {
	config  config
	webhook *webhook.GenericWebhook
	// answers has ImageReviewStatus by the JSON of the ImageReviewSpec.
	answers *cache.LRUExpireCache
	logger  klog.Logger
}

// New returns the plugin with the configuration in a YAML document. Answers of the webhook
// expire on the clock; a failed call is repeated on the machine's clock.
func New(document []byte, clock clock.Clock, logger klog.Logger) (*Plugin, error) {
	config, err := parse(document)
	if err != nil {
		return nil, err
	}
	calls, err := outbound.Kubeconfig(config.kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("imagePolicy.kubeConfigFile %q: %w", config.kubeconfig, err)
	}
	scheme := runtime.NewScheme()
	if err := imagepolicyv1alpha1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	hook, err := webhook.NewGenericWebhook(scheme, serializer.NewCodecFactory(scheme), calls,
		[]schema.GroupVersion{imagepolicyv1alpha1.SchemeGroupVersion}, webhook.DefaultRetryBackoffWithInitialDelay(config.backoff))
	if err != nil {
		return nil, fmt.Errorf("imagePolicy.kubeConfigFile %q: %w", config.kubeconfig, err)
	}
	return &Plugin{config: config, webhook: hook, answers: cache.NewLRUExpireCacheWithClock(maxAnswers, clock), logger: logger}, nil
}

// Check implements admission.Checker.
func (p *Plugin) Check(ctx context.Context, a *admission.Attributes) error {
	pod, ok := a.Object.(*corev1.Pod)
	if !ok || a.Operation != admission.Create && a.Operation != admission.Update || a.Subresource != "" && a.Subresource != "ephemeralcontainers" {
		return nil
	}
	spec := imagepolicyv1alpha1.ImageReviewSpec{Containers: imagesOf(pod, a.Subresource), Annotations: annotationsFor(pod), Namespace: a.Namespace}
	status, err := p.review(ctx, spec)
	if err != nil {
		return p.failed(ctx, a, pod, err)
	}
	for key, value := range status.AuditAnnotations {
		p.annotate(ctx, auditPrefix+key, value)
	}
	switch {
	case status.Allowed:
		return nil
	case status.Reason != "":
		return denied(a, fmt.Errorf("image policy webhook backend denied one or more images: %s", status.Reason))
	}
	return denied(a, errors.New("one or more images rejected by webhook backend"))
}

// review returns the webhook's answer, or an earlier one that still counts.
func (p *Plugin) review(ctx context.Context, spec imagepolicyv1alpha1.ImageReviewSpec) (*imagepolicyv1alpha1.ImageReviewStatus, error) {
	encoded, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("encoding an ImageReview: %w", err)
	}
	key := string(encoded)
	if known, ok := p.answers.Get(key); ok {
		if status, ok := known.(*imagepolicyv1alpha1.ImageReviewStatus); ok {
			return status, nil
		}
	}
	review := &imagepolicyv1alpha1.ImageReview{Spec: spec}
	result := p.webhook.WithExponentialBackoff(ctx, func() rest.Result {
		return p.webhook.RestClient.Post().Body(review).Do(ctx)
	})
	if err := result.Error(); err != nil { // any answer but 2xx is one
		return nil, err
	}
	if err := result.Into(review); err != nil {
		return nil, err
	}
	ttl := p.config.denyTTL
	if review.Status.Allowed {
		ttl = p.config.allowTTL
	}
	if ttl > 0 { // otherwise it would count until the clock moves on
		p.answers.Add(key, &review.Status, ttl)
	}
	return &review.Status, nil
}

// failed returns the answer to a write that the webhook could not review.
func (p *Plugin) failed(ctx context.Context, a *admission.Attributes, pod *corev1.Pod, why error) error {
	p.logger.V(2).Info("The image policy webhook failed", "pod", klog.KObj(pod), "admitted", p.config.defaultAllow, "error", why)
	if !p.config.defaultAllow {
		return denied(a, why)
	}
	p.annotate(ctx, auditPrefix+"failed-open", "true")
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[failedOpen] = "true"
	return nil
}

// annotate adds an annotation to the request's audit event, unless its name is not valid.
func (p *Plugin) annotate(ctx context.Context, key, value string) {
	if wrong := validation.IsQualifiedName(key); len(wrong) > 0 {
		p.logger.Info("Ignoring an audit annotation of the image policy webhook: its name is not valid", "name", key, "reasons", wrong)
		return
	}
	audit.AddAuditAnnotation(ctx, key, value)
}

// imagesOf returns the images that a write can change.
func imagesOf(pod *corev1.Pod, subresource string) []imagepolicyv1alpha1.ImageReviewContainerSpec {
	var images []imagepolicyv1alpha1.ImageReviewContainerSpec
	add := func(image string) {
		images = append(images, imagepolicyv1alpha1.ImageReviewContainerSpec{Image: image})
	}
	if subresource != "" {
		for i := range pod.Spec.EphemeralContainers {
			add(pod.Spec.EphemeralContainers[i].Image)
		}
		return images
	}
	for i := range pod.Spec.Containers {
		add(pod.Spec.Containers[i].Image)
	}
	for i := range pod.Spec.InitContainers {
		add(pod.Spec.InitContainers[i].Image)
	}
	return images
}

// annotationsFor returns the annotations that are meant for the webhook.
func annotationsFor(pod *corev1.Pod) map[string]string {
	found := map[string]string{}
	for key, value := range pod.Annotations {
		if strings.Contains(key, forwarded) {
			found[key] = value
		}
	}
	return found
}

func denied(a *admission.Attributes, why error) error {
	return apierrors.NewForbidden(a.Resource.GroupResource(), a.Name, why)
}
