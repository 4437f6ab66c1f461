package decide

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	provisioning "minikcm.dev/minikcm/controllers/internal/volumeprovisioner/decide"
)

// The annotations of a claim, its volume or its StorageClass that make attaching and detaching
// slow or fail. The claim's take precedence over the volume's, and the volume's over the class's.
const (
	AttachDelayAnnotation = "minikcm.dev/attach-delay"
	AttachErrorAnnotation = "minikcm.dev/attach-error"
	DetachDelayAnnotation = "minikcm.dev/detach-delay"
	DetachErrorAnnotation = "minikcm.dev/detach-error"
)

// Subject is an attachment with the objects that it depends on. Objects that do not exist are nil.
type Subject struct {
	Attachment *storagev1.VolumeAttachment
	Volume     *corev1.PersistentVolume
	Claim      *corev1.PersistentVolumeClaim
	Class      *storagev1.StorageClass
	Driver     *storagev1.CSIDriver
}

// Verb is the action to take on an attachment.
type Verb int

// The verbs.
const (
	Nothing Verb = iota
	Attach
	Detach
)

// Due returns the action to take on an attachment.
func Due(s *Subject) Verb {
	a := s.Attachment
	switch held := slices.Contains(a.Finalizers, Finalizer(a.Spec.Attacher)); {
	case !serves(s):
		return Nothing
	case a.DeletionTimestamp != nil && held:
		return Detach
	case a.DeletionTimestamp == nil && !a.Status.Attached:
		return Attach
	}
	return Nothing
}

// serves reports whether the driver of an attachment is simulated.
func serves(s *Subject) bool {
	return s.Attachment.Spec.Attacher == provisioning.Driver || provisioning.Serves(s.Class) ||
		s.Driver != nil && s.Driver.Annotations[provisioning.Simulated] == "true"
}

// Finalizer returns the finalizer with which upstream's external attacher of a driver holds an
// attachment.
func Finalizer(driver string) string {
	return "external-attacher/" + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, driver)
}

// Simulation returns how long the attacher takes, and why it fails; "": it does not.
func Simulation(s *Subject, verb Verb) (delay time.Duration, failure string) {
	delayKey, errorKey := AttachDelayAnnotation, AttachErrorAnnotation
	if verb == Detach {
		delayKey, errorKey = DetachDelayAnnotation, DetachErrorAnnotation
	}
	delay, err := provisioning.ParseDelay(delayKey, annotated(s, delayKey))
	if err != nil {
		return 0, err.Error()
	}
	return delay, annotated(s, errorKey)
}

func annotated(s *Subject, key string) string {
	var value string
	if s.Claim != nil {
		value = s.Claim.Annotations[key]
	}
	if s.Volume != nil {
		value = cmp.Or(value, s.Volume.Annotations[key])
	}
	if s.Class != nil {
		value = cmp.Or(value, s.Class.Annotations[key])
	}
	return value
}

// The delay between failed attempts doubles from firstRetry to lastRetry, the defaults of
// upstream's external attacher.
const (
	firstRetry = time.Second
	lastRetry  = 5 * time.Minute
)

// Retry returns the delay after as many failures in a row.
func Retry(failures int) time.Duration {
	return min(firstRetry<<min(max(failures-1, 0), 10), lastRetry)
}

// maxMessage is the longest message of an error in a status, in bytes.
const maxMessage = 1024

// Failed returns the error for the status of an attachment.
func Failed(why string, now time.Time) *storagev1.VolumeError {
	if len(why) > maxMessage {
		why = strings.ToValidUTF8(why[:maxMessage], "")
	}
	return &storagev1.VolumeError{Time: metav1.NewTime(now), Message: why}
}
