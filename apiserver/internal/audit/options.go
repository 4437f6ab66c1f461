package audit

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/plugin/pkg/audit/buffered"
	auditlog "k8s.io/apiserver/plugin/pkg/audit/log"
	"k8s.io/apiserver/plugin/pkg/audit/truncate"
)

// Options configure auditing, with kube-apiserver's names and meanings. The zero value
// audits nothing. Without a policy, nothing is recorded.
type Options struct {
	// PolicyFile has an audit.k8s.io/v1 Policy. Policy, if not nil, is used instead.
	PolicyFile string
	Policy     *auditv1.Policy
	Log        LogOptions
	Webhook    WebhookOptions
	// Events, if not nil, is called with every event before the response continues. Several
	// goroutines call it at the same time. It owns the event, and must not block.
	Events func(*auditv1.Event)
}

// LogOptions configure the log file.
type LogOptions struct {
	// Path is the file, which is created with mode 0600; "-" is standard output, and empty
	// means no log.
	Path string
	// Format is json or legacy (one line of text an event).
	Format string
	// MaxSize is the size in megabytes at which the file is rotated; 0 disables rotation.
	// MaxAge is for how many days, and MaxBackups how many, rotated files are kept; 0
	// means no limit. Compress compresses rotated files.
	MaxSize, MaxAge, MaxBackups int
	Compress                    bool
	Delivery
}

// WebhookOptions configure the webhook.
type WebhookOptions struct {
	// ConfigFile is a kubeconfig with the webhook's address; empty means no webhook.
	ConfigFile string
	// InitialBackoff is the wait before the second of at most five attempts, in real time.
	InitialBackoff time.Duration
	Delivery
}

// Delivery is how events reach a backend.
type Delivery struct {
	// Mode is one of Modes.
	Mode  string
	Batch buffered.BatchConfig
	// Truncates limits the size of events and batches to Truncate.
	Truncates bool
	Truncate  truncate.Config
}

// The modes of delivery. ModeBlocking delays the response until the event is written,
// ModeBlockingStrict also fails a request whose first event is not written, and ModeBatch
// buffers events and drops those that do not fit in the buffer.
const (
	ModeBatch          = "batch"
	ModeBlocking       = "blocking"
	ModeBlockingStrict = "blocking-strict"
)

// Modes returns the modes of delivery.
func Modes() []string { return []string{ModeBatch, ModeBlocking, ModeBlockingStrict} }

// Formats returns the formats of the log.
func Formats() []string { return slices.Clone(auditlog.AllowedFormats) }

const (
	bufferedEvents = 10_000
	mebibyte       = 1 << 20
)

// DefaultOptions returns kube-apiserver's defaults.
func DefaultOptions() Options {
	limits := truncate.Config{MaxBatchSize: 10 * mebibyte, MaxEventSize: 100 << 10}
	return Options{
		Log: LogOptions{
			Format: auditlog.FormatJson, MaxSize: 100, MaxAge: 366, MaxBackups: 100,
			Delivery: Delivery{Mode: ModeBlocking, Truncate: limits, Batch: buffered.BatchConfig{BufferSize: bufferedEvents, MaxBatchSize: 1}},
		},
		Webhook: WebhookOptions{
			InitialBackoff: 10 * time.Second,
			Delivery: Delivery{Mode: ModeBatch, Truncate: limits, Batch: buffered.BatchConfig{
				BufferSize: bufferedEvents, MaxBatchSize: 400, MaxBatchWait: 30 * time.Second,
				ThrottleEnable: true, ThrottleQPS: 10, ThrottleBurst: 15, AsyncDelegate: true,
			}},
		},
	}
}

// Enabled reports whether the options name a policy or a backend.
func (o *Options) Enabled() bool {
	return o.PolicyFile != "" || o.Policy != nil || o.Log.Path != "" || o.Webhook.ConfigFile != "" || o.Events != nil
}

// Validate returns an error for options that cannot work, which names the flag. It reads the
// policy.
func (o *Options) Validate() error {
	if _, err := o.readPolicy(); err != nil {
		return err
	}
	var all []error
	if o.Log.Path != "" {
		if !slices.Contains(Formats(), o.Log.Format) {
			all = append(all, fmt.Errorf("--audit-log-format %q is none of %s", o.Log.Format, strings.Join(Formats(), ", ")))
		}
		for name, n := range map[string]int{"maxage": o.Log.MaxAge, "maxbackup": o.Log.MaxBackups, "maxsize": o.Log.MaxSize} {
			if n < 0 {
				all = append(all, fmt.Errorf("--audit-log-%s must not be negative, but is %d", name, n))
			}
		}
		all = append(all, o.Log.Delivery.validate("log"))
	}
	if o.Webhook.ConfigFile != "" {
		if o.Webhook.InitialBackoff <= 0 {
			all = append(all, fmt.Errorf("--audit-webhook-initial-backoff must be positive, but is %v", o.Webhook.InitialBackoff))
		}
		all = append(all, o.Webhook.Delivery.validate("webhook"))
	}
	if o.Events != nil && o.Policy == nil && o.PolicyFile == "" {
		all = append(all, errors.New("auditing to a function needs a policy"))
	}
	return errors.Join(all...)
}

func (d *Delivery) validate(backend string) error {
	if !slices.Contains(Modes(), d.Mode) {
		return fmt.Errorf("--audit-%s-mode %q is none of %s", backend, d.Mode, strings.Join(Modes(), ", "))
	}
	positive := func(flag string, n float64) error {
		if n > 0 {
			return nil
		}
		return fmt.Errorf("--audit-%s-%s must be positive, but is %v", backend, flag, n)
	}
	var all []error
	if d.Mode == ModeBatch {
		all = append(all, positive("batch-buffer-size", float64(d.Batch.BufferSize)), positive("batch-max-size", float64(d.Batch.MaxBatchSize)))
		if d.Batch.ThrottleEnable {
			all = append(all, positive("batch-throttle-qps", float64(d.Batch.ThrottleQPS)), positive("batch-throttle-burst", float64(d.Batch.ThrottleBurst)))
		}
	}
	if d.Truncates {
		all = append(all, positive("truncate-max-batch-size", float64(d.Truncate.MaxBatchSize)), positive("truncate-max-event-size", float64(d.Truncate.MaxEventSize)))
		if d.Truncate.MaxEventSize > d.Truncate.MaxBatchSize {
			all = append(all, fmt.Errorf("--audit-%s-truncate-max-event-size must not be above --audit-%s-truncate-max-batch-size", backend, backend))
		}
	}
	return errors.Join(all...)
}
