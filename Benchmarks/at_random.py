"""Reads blocks at random places of a file from four threads: FILE BLOCK SECONDS. Prints how many."""

import os
import random
import sys
import threading
import time

path, block, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
file = os.open(path, os.O_RDONLY)
size = os.fstat(file).st_size
deadline = time.monotonic() + seconds
counts = []


def read(seed):
    places = random.Random(seed)
    count = 0
    while time.monotonic() < deadline:
        os.pread(file, block, places.randrange(0, size - block) & ~4095)
        count += time.monotonic() < deadline  # a read that ends late doesn't count
    counts.append(count)


threads = [threading.Thread(target=read, args=(seed,)) for seed in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sum(counts))
