// Package persistentvolumeattachdetach attaches the volumes of CSI drivers to the nodes of the
// pods that use them, and detaches them when no pod on the node does. It creates and deletes
// VolumeAttachments, which the attacher of the driver acts on, and reports in the status of each
// node which volumes the kubelet may mount.
//
// A volume without an access mode for several nodes is never attached to two: the attachment to
// the first one must be gone from the API before the attachment to the second is created. A volume
// that a node has in use is only detached by force: after MaxWaitForUnmount from a node that is not
// ready, or at once from one with the taint node.kubernetes.io/out-of-service.
//
// Compared with upstream, a changed object is acted on at once instead of at the next pass, and
// only volumes of CSI drivers are attached: not the volumes of in-tree drivers that upstream
// translates, nor fc and iscsi.
package persistentvolumeattachdetach
