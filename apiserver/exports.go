package apiserver

import (
	"context"

	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/apiserver/internal/admission/plugins"
	"minikcm.dev/minikcm/apiserver/internal/audit"
	"minikcm.dev/minikcm/apiserver/internal/authn"
	"minikcm.dev/minikcm/apiserver/internal/authz"
	"minikcm.dev/minikcm/apiserver/internal/encryption"
	"minikcm.dev/minikcm/apiserver/internal/identity"
	"minikcm.dev/minikcm/apiserver/internal/live"
	"minikcm.dev/minikcm/apiserver/internal/metricsapi"
	"minikcm.dev/minikcm/apiserver/internal/resources"
	"minikcm.dev/minikcm/apiserver/internal/serviceip"
	"minikcm.dev/minikcm/clock"
)

type (
	// AdmissionOptions selects and configures the admission plugins.
	AdmissionOptions = plugins.Options
	// AdmissionPlugin is a row of the table of admission plugins.
	AdmissionPlugin = plugins.Plugin

	// AuditOptions says which requests are audited, and where the events go.
	AuditOptions = audit.Options
	// AuditDelivery says how events are delivered to the log or the webhook.
	AuditDelivery = audit.Delivery
	// Auditor records requests. Close it after the server.
	Auditor = audit.Auditor

	// Authentication configures how users authenticate.
	Authentication = authn.Options
	// RequestHeader trusts an authenticating proxy.
	RequestHeader = authn.RequestHeader
	// TokenIssuer trusts the tokens of an OpenID Connect provider.
	TokenIssuer = authn.OIDC
	// TokenWebhook asks a webhook who the bearer of a token is.
	TokenWebhook = authn.Webhook

	// AuthorizationConfig is the content of an AuthorizationConfiguration.
	AuthorizationConfig = authz.Configuration
	// AuthorizationWebhook asks a webhook whether a request is allowed.
	AuthorizationWebhook = authz.Webhook

	// EncryptionKeys are the keys with which objects are encrypted in the store. Close them after the server.
	EncryptionKeys = encryption.Keys

	// LiveKind is a kind whose objects, LiveObjects, show and change the state of the process.
	LiveKind    = live.Kind
	LiveObjects = live.Objects
	// LiveCreator begins and ends LiveObjects.
	LiveCreator = live.Creator
	// LiveObject is the content of one of them.
	LiveObject = live.Object

	// MetricsSource answers the metrics APIs, from objects that it reads through a MetricsWorld.
	MetricsSource = metricsapi.Source
	MetricsWorld  = metricsapi.World
	// MetricSample is a value of a metric, and MetricNames are the names of metrics.
	MetricSample = metricsapi.Sample
	MetricNames  = metricsapi.Names

	// Serving says which versions and fields of the API are served.
	Serving = resources.Serving
	// ResourceTable has a row for each built-in kind.
	ResourceTable = resources.Table

	// PortRange is a range of ports.
	PortRange = serviceip.PortRange
)

// IdentityLeaseDuration is how long a server counts as running after it renewed its Lease (KEP-1965).
const IdentityLeaseDuration = identity.LeaseDuration

// AdmissionPlugins returns the table of admission plugins, in the order in which they run.
func AdmissionPlugins() []AdmissionPlugin { return plugins.Table() }

// DefaultAuditOptions returns kube-apiserver's defaults.
func DefaultAuditOptions() AuditOptions { return audit.DefaultOptions() }

// AuditFormats returns the formats of the audit log.
func AuditFormats() []string { return audit.Formats() }

// NewAuditor returns an auditor whose events have the times of c, or nil if the options audit nothing. The
// caller must close it.
func NewAuditor(opts AuditOptions, c clock.Clock, logger klog.Logger) (*Auditor, error) {
	return audit.New(opts, c, logger)
}

// OpenEncryption reads an EncryptionConfiguration and checks that its KMS plugins answer. Without a file, nothing
// is encrypted. The caller must close the keys.
func OpenEncryption(ctx context.Context, file, serverID string) (*EncryptionKeys, error) {
	return encryption.Open(ctx, file, serverID)
}

// BuiltinResources returns the table of the kinds that are served by default.
func BuiltinResources() *ResourceTable { return resources.Builtin() }

// ResourcesFor returns the table of the kinds that are served with s.
func ResourcesFor(s Serving) *ResourceTable { return resources.BuiltinFor(s) }

// AllFeatures returns the Serving with every feature gate on.
func AllFeatures() Serving { return resources.AllFeatures() }

// ParsePortRange parses "30000-32767", "30000+100" or a single port, as --service-node-port-range.
func ParsePortRange(text string) (PortRange, error) { return serviceip.ParsePortRange(text) }
