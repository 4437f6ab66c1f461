package main

import (
	"strings"

	"github.com/spf13/pflag"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/apiserver"
)

// registerAudit registers kube-apiserver's flags for auditing.
func registerAudit(flags *pflag.FlagSet, o *minikcm.Audit) {
	*o = minikcm.DefaultAudit()
	flags.StringVar(&o.PolicyFile, "audit-policy-file", "", "file with the audit.k8s.io/v1 Policy that selects the requests to record; without it, none are")
	flags.StringVar(&o.Log.Path, "audit-log-path", "", "append audit events to this file; - is standard output")
	flags.StringVar(&o.Log.Format, "audit-log-format", o.Log.Format, "format of the audit log: "+strings.Join(apiserver.AuditFormats(), ", "))
	flags.IntVar(&o.Log.MaxSize, "audit-log-maxsize", o.Log.MaxSize, "size in megabytes at which the audit log is rotated; 0 disables rotation")
	flags.IntVar(&o.Log.MaxAge, "audit-log-maxage", o.Log.MaxAge, "number of days to keep rotated audit logs; 0 is no limit")
	flags.IntVar(&o.Log.MaxBackups, "audit-log-maxbackup", o.Log.MaxBackups, "number of rotated audit logs to keep; 0 is no limit")
	flags.BoolVar(&o.Log.Compress, "audit-log-compress", false, "compress rotated audit logs with gzip")
	registerDelivery(flags, "log", &o.Log.Delivery)
	flags.StringVar(&o.Webhook.ConfigFile, "audit-webhook-config-file", "", "kubeconfig with the address that audit events are posted to")
	flags.DurationVar(&o.Webhook.InitialBackoff, "audit-webhook-initial-backoff", o.Webhook.InitialBackoff, "wait before a failed request to the webhook is repeated; longer before each further repeat")
	registerDelivery(flags, "webhook", &o.Webhook.Delivery)
}

// registerDelivery registers the flags that the log and the webhook have in common.
func registerDelivery(flags *pflag.FlagSet, backend string, d *apiserver.AuditDelivery) {
	prefix := "audit-" + backend + "-"
	flags.StringVar(&d.Mode, prefix+"mode", d.Mode, "how audit events reach the "+backend+": blocking delays responses, blocking-strict also fails requests, batch buffers events")
	flags.IntVar(&d.Batch.BufferSize, prefix+"batch-buffer-size", d.Batch.BufferSize, "number of buffered events in batch mode; further events are dropped")
	flags.IntVar(&d.Batch.MaxBatchSize, prefix+"batch-max-size", d.Batch.MaxBatchSize, "maximum number of events in a batch")
	flags.DurationVar(&d.Batch.MaxBatchWait, prefix+"batch-max-wait", d.Batch.MaxBatchWait, "how long a batch that is not full waits for more events")
	flags.BoolVar(&d.Batch.ThrottleEnable, prefix+"batch-throttle-enable", d.Batch.ThrottleEnable, "limit the rate of batches")
	flags.Float32Var(&d.Batch.ThrottleQPS, prefix+"batch-throttle-qps", d.Batch.ThrottleQPS, "maximum average number of batches per second")
	flags.IntVar(&d.Batch.ThrottleBurst, prefix+"batch-throttle-burst", d.Batch.ThrottleBurst, "maximum number of batches sent at once")
	flags.BoolVar(&d.Truncates, prefix+"truncate-enabled", false, "limit the size of events and batches")
	flags.Int64Var(&d.Truncate.MaxBatchSize, prefix+"truncate-max-batch-size", d.Truncate.MaxBatchSize, "maximum bytes of a batch, which is split if it is larger")
	flags.Int64Var(&d.Truncate.MaxEventSize, prefix+"truncate-max-event-size", d.Truncate.MaxEventSize, "maximum bytes of an event; a larger one loses its request and response or is discarded")
}
