// Package mount serves what a guest does with files, in directories and single files of the host's
// that were granted to it.
//
// A [Set] is what one plugin was granted. It is opened when the plugin is loaded and held open:
// what is moved to the place of a directory later is not seen. A [Table] is one instance's
// descriptors; [Table.Reset] closes what a call opened, so nothing of it reaches the next.
//
// # What a guest sees
//
// One preopened directory, number 3, named "/". It is not on any disk: it has the mounts, each at
// its guest path, and the directories that lead to them. So there is no path that is not answered
// here, and a guest that lists "/" sees what it was given. Below a mount everything goes through
// os.Root: symbolic links and ".." lead wherever they like inside the mount, and never out. A
// single file is reached through its directory's root by its exact name, never through a link.
//
// What a guest makes are regular files, directories, and symbolic links that point down from where
// they are, so that a link that is moved cannot come to point out. Hard links are refused. Nothing
// but regular files and directories can be opened: a FIFO never blocks, a device never hears of it.
//
// Nothing can be opened or looked up while a plugin loads: what it found would be in the image that
// all its calls begin with.
//
// # Limits
//
// What a guest may add in bytes and files is counted by how large files become, holes included,
// less what it removes; descriptors, the bytes of one read or write, and the entries of a directory
// have constants. Directories are listed in the order of their names.
package mount
