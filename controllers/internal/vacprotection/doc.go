// Package vacprotection keeps VolumeAttributesClasses that are being deleted until no
// volume and no claim names them (KEP-3751).
package vacprotection
