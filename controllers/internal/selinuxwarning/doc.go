// Package selinuxwarning is the selinux-warning-controller (KEP-1710), which is off by default: it
// warns of pods that could not run on one node, because they use a volume with different SELinux
// labels or change policies, and of pods whose containers do. It checks all pods, wherever they
// run.
//
// Only volumes that are mounted with a label can be the reason: volumes of CSI drivers with
// seLinuxMount, of Fibre Channel and of iSCSI that claims are bound to. Upstream's metric of the
// conflicts is missing.
package selinuxwarning
