package decide

import (
	"cmp"
	"fmt"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The annotations of a claim, or of its StorageClass, that make the provisioning slow or fail,
// and of a volume or its StorageClass that make its deletion fail. Those of the claim and the
// volume come first.
const (
	DelayAnnotation       = "minikcm.dev/provision-delay"
	ErrorAnnotation       = "minikcm.dev/provision-error"
	DeleteErrorAnnotation = "minikcm.dev/delete-error"
)

// maxDelay caps the delay of a provisioning.
const maxDelay = 24 * time.Hour

// Annotated returns the value of an annotation of an object or, if the object does not have
// it, of its class; "": neither has it. The class may be nil.
func Annotated(o metav1.Object, class *storagev1.StorageClass, key string) string {
	var ofClass string
	if class != nil {
		ofClass = class.Annotations[key]
	}
	return cmp.Or(o.GetAnnotations()[key], ofClass)
}

// Delay returns how long the provisioning for a claim takes.
func Delay(claim metav1.Object, class *storagev1.StorageClass) (time.Duration, error) {
	return ParseDelay(DelayAnnotation, Annotated(claim, class, DelayAnnotation))
}

// ParseDelay returns the delay that the value of an annotation states; "": none.
func ParseDelay(annotation, text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	delay, err := time.ParseDuration(text)
	if err != nil || delay < 0 || delay > maxDelay {
		return 0, fmt.Errorf("the annotation %s is %q: it must be a duration from 0s to %s, such as 5s", annotation, text, maxDelay)
	}
	return delay, nil
}
