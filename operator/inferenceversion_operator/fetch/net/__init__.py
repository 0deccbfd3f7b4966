"""HTTP for sources that strangers name: checked addresses, bounded redirects, resumed downloads."""
