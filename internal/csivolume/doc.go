// Package csivolume has upstream's names for volumes of CSI drivers and for their attachments,
// which controllers and kubelets must choose alike.
//
//minikcm:pure
package csivolume
