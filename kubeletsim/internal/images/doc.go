// Package images has the behavior of images' containers, and the images that cannot be pulled.
// Profiles come from ConfigMaps with LabelImage and act as annotations of the pods that use
// the image. Nothing is ever downloaded: a pull only takes the declared time.
package images
