// Package bootstrap writes the objects that a cluster has from the beginning, besides those that a
// client loads: ConfigMaps of the API server, the default StorageClass, the list of the images that
// exist, and kwok's Stages. An object that an earlier process on the same store has written is updated.
package bootstrap
