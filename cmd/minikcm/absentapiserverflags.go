package main

// The flags of kube-apiserver that have no effect here.
const (
	absentAPIServerBools = `
		aggregator-reject-forwarding-redirect authentication-skip-lookup authentication-tolerate-lookup-failure contention-profiling
		disable-http2-serving emulation-forward-compatible enable-aggregator-routing enable-garbage-collector enable-logs-handler
		enable-priority-and-fairness log-json-split-stream log-text-split-stream permit-address-sharing permit-port-sharing profiling
		runtime-config-emulation-forward-compatible service-account-extend-token-expiration service-account-lookup
		shutdown-send-retry-after watch-cache`

	absentAPIServerFlags = `
		admission-control allow-metric-labels allow-metric-labels-manifest apiserver-count audit-log-version audit-webhook-batch-initial-backoff
		audit-webhook-version authentication-kubeconfig authorization-always-allow-paths authorization-kubeconfig
		coordinated-leadership-lease-duration coordinated-leadership-renew-deadline coordinated-leadership-retry-period
		cors-allowed-origins debug-socket-path default-not-ready-toleration-seconds default-unreachable-toleration-seconds
		default-watch-cache-size delete-collection-workers disabled-metrics egress-selector-config-file
		endpoint-reconciler-type etcd-compaction-interval etcd-count-metric-poll-period etcd-db-metric-poll-interval etcd-healthcheck-timeout
		etcd-prefix etcd-readycheck-timeout etcd-servers-overrides event-ttl external-hostname goaway-chance http2-max-streams-per-connection
		kubelet-certificate-authority kubelet-client-certificate kubelet-client-key kubelet-port kubelet-preferred-address-types
		kubelet-read-only-port kubelet-timeout kubernetes-service-node-port lease-reuse-duration-seconds livez-grace-period
		log-flush-frequency log-json-info-buffer-size log-text-info-buffer-size logging-format max-connection-bytes-per-sec
		min-compatibility-version min-request-timeout peer-advertise-ip peer-advertise-port peer-ca-file proxy-client-cert-file
		proxy-client-key-file request-timeout service-account-jwks-uri service-account-max-token-expiration
		service-account-signing-endpoint show-hidden-metrics-for-version shutdown-delay-duration shutdown-watch-termination-grace-period
		storage-backend storage-initialization-timeout storage-media-type strict-transport-security-directives tls-cipher-suites
		tls-curve-preferences tls-min-version tls-sni-cert-key tracing-config-file vmodule watch-cache-sizes`
)
